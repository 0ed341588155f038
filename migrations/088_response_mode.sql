-- expand: an older instance does not read the new column, and answers the requests of a newer one in the query.
-- form_post: the response is posted as a form. Null: it is in the query.
ALTER TABLE authorization_requests ADD COLUMN response_mode TEXT;
