-- name: take
-- Takes a lease that is free or has run out, or prolongs one's own; changes no row when another holder has it.
insert into {schema}.leases as held (name, holder, until)
values (%(name)s, %(holder)s, %(until)s)
on conflict (name) do update set holder = excluded.holder, until = excluded.until
where held.holder = excluded.holder or held.until <= %(now)s

-- name: release
-- Frees one's own lease.
delete from {schema}.leases where name = %(name)s and holder = %(holder)s
