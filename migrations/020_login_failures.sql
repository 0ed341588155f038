-- Failed logins of an address in the current window, and until when it is locked out: shared by all instances.
CREATE TABLE login_failures (
  address      TEXT PRIMARY KEY,                  -- of one subscriber: an IPv4 address, the /64 of an IPv6 one
  failures     BIGINT NOT NULL,
  since        BIGINT NOT NULL,
  locked_until BIGINT NOT NULL
);
-- Each failure takes some rows with it that count no more.
CREATE INDEX login_failures_by_age ON login_failures (since);
