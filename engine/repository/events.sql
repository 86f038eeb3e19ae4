-- name: append_event
-- Appends one event and returns when it was recorded.
insert into engine.session_events (
    tenant_id, thread_id, seq, event_id, parent_id, turn_id, epoch, session_id, user_id, kind, role, content, metadata
)
values (
    %(tenant_id)s, %(thread_id)s, %(seq)s, %(event_id)s, %(parent_id)s, %(turn_id)s, %(epoch)s, %(session_id)s,
    %(user_id)s, %(kind)s, %(role)s, %(content)s, %(metadata)s::jsonb
)
returning create_time
