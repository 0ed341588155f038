-- How much of a partition is in an export file, before it is dropped as a whole.
CREATE TABLE exported_partitions (
  partition   TEXT PRIMARY KEY,
  exported_to BYTEA NOT NULL,                     -- the last id
  exported    BIGINT NOT NULL                     -- rows
);
-- Only where there are partitions, to the end.
-- Both records are partitioned by their time-ordered id, by calendar month (UTC). What there is becomes the first partition as
-- it is: it is read once, to prove that it ends before the first month that follows, and no row moves. Its indexes become
-- part of those of the new table, which take their names. Later months are made while the service runs (store/partitions.ts).
DO $$
DECLARE
  parent text; part text; named text; definition text; definitions text[]; newest timestamptz; ends text;
BEGIN
  FOREACH parent IN ARRAY ARRAY['issuances', 'audit_events'] LOOP
    part := parent || '_first';
    definitions := ARRAY(SELECT indexdef FROM pg_indexes
      WHERE schemaname = current_schema() AND tablename = parent AND indexname <> parent || '_pkey');
    FOREACH named IN ARRAY ARRAY(SELECT indexname::text FROM pg_indexes
      WHERE schemaname = current_schema() AND tablename = parent)
    LOOP EXECUTE format('ALTER INDEX %I RENAME TO %I', named, named || '_first'); END LOOP;
    EXECUTE format('ALTER TABLE %I RENAME TO %I', parent, part);
    EXECUTE format($q$SELECT to_timestamp(('x' || encode(substring(id FROM 1 FOR 6), 'hex'))::bit(48)::bigint / 1000.0)
      FROM %I ORDER BY id DESC LIMIT 1$q$, part) INTO newest;
    ends := '\x' || lpad(to_hex((extract(epoch FROM
      date_trunc('month', greatest(now(), newest) AT TIME ZONE 'UTC') + interval '1 month') * 1000)::bigint), 12, '0');
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS, PRIMARY KEY (id)) PARTITION BY RANGE (id)', parent, part);
    FOREACH definition IN ARRAY definitions LOOP EXECUTE definition; END LOOP;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', parent, part, ends);
    EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', parent || '_default', parent);
  END LOOP;
END $$;
