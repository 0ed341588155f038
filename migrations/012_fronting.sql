-- What an operator lets a resource in front of another one (a gateway) obtain there: for a scope of the one, scopes of the other.
CREATE TABLE fronting_links (
  source_slug TEXT NOT NULL,
  target_slug TEXT NOT NULL,
  scope_map   TEXT NOT NULL,
  created_by  TEXT NOT NULL,
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL,
  PRIMARY KEY (source_slug, target_slug)
);
CREATE INDEX fronting_by_target ON fronting_links (target_slug);
