-- name: insert_example_avatar
-- Stores one of our example avatars; one that is there stays as it is.
insert into ml.avatars (uid, avatar_id, creator_id, name, system_prompt, description, tags)
values (%(uid)s, %(avatar_id)s, 'mnemesh', %(name)s, %(system_prompt)s, %(description)s, %(tags)s)
on conflict (uid) do nothing
