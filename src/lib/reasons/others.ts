// What is wrong with a single request, and said in its answer.

/** Reasons whose error description says what is wrong and what is allowed instead. */
export const OTHERS = [
  [
    'bad_content_length bad_method bad_target bad_transfer_encoding missing_host repeated_header two_lengths unexpected_body upgrade head_too_large bad_encoding repeated_cookie too_many_params',
    'The HTTP request is malformed',
    'Correct the client, or the proxy between it and this service',
  ],
  [
    'token_unknown token_expired token_revoked client_not_active user_not_active no_token scheme two_tokens no_openid client_request',
    'The access token is missing, sent twice, no longer valid, or not for this endpoint',
    'Correct the client, as the error description says',
  ],
  [
    'no_ssf_manage push_stream stale unknown_stream bad_input not_a_client not_on_runtime_list push_needs_admin stream_not_enabled too_many_receivers bad_receiver_url blocked_receiver_url insecure_receiver_url poll_stream verification_event',
    'The request about a stream of events or a webhook is not acceptable',
    'Correct the request, as the error description says',
  ],
  [
    'several_names too_many_ids unknown_step no_step ambiguous_name client_exists email_taken fronting_exists has_clients has_consents has_grants has_issuances has_links has_resources has_tokens idp_ambiguous idp_exists last_secret mapping_exists name_taken not_revocable only_exchange passwords_disabled provider_exists resource_exists subject_taken too_many_secrets user_local user_not_local wrong_state bad_time description_after_colon document_keys document_members document_returns document_stored document_without_url empty_range fixed_field fronting_cycle fronting_link fronting_scope fronting_self fronting_source_kind insecure_endpoint insecure_jwks_uri missing_user no_audiences no_document no_metadata_uri no_secret no_uri not_a_service_account not_oauth own_issuer since_too_old two_providers unknown_default_resource unknown_place wrong_kind config_invalid not_found',
    'The request of an operator does not fit what is stored',
    'Correct the request, as the error description says',
  ],
] as const
