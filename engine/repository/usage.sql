-- name: insert_usage
-- Stores what one attempt at a provider cost; keeps the first row when the attempt was accounted for before.
insert into engine.token_usage (
    tenant_id, turn_id, turn_attempt, provider_attempt, thread_id, session_id, user_id, avatar_id, request_id, phase,
    provider, model, input_tokens, output_tokens, cached_input_tokens, measured, outcome
)
values (
    %(tenant_id)s, %(turn_id)s, %(turn_attempt)s, %(provider_attempt)s, %(thread_id)s, %(session_id)s, %(user_id)s,
    %(avatar_id)s, %(request_id)s, %(phase)s, %(provider)s, %(model)s, %(input_tokens)s, %(output_tokens)s,
    %(cached_input_tokens)s, %(measured)s, %(outcome)s
)
on conflict (tenant_id, turn_id, phase, turn_attempt, provider_attempt) do nothing
