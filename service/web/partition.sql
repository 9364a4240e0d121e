BEGIN;
ALTER INDEX events_pkey RENAME TO events_whole_pkey;
ALTER TABLE events RENAME TO events_whole;
CREATE TABLE events (LIKE events_whole INCLUDING ALL, FOREIGN KEY (game) REFERENCES games (id)) PARTITION BY HASH (game);
DO $$ BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format('CREATE TABLE events_%s PARTITION OF events FOR VALUES WITH (MODULUS 16, REMAINDER %s)', part, part);
  END LOOP;
END $$;
INSERT INTO events SELECT * FROM events_whole;
DROP TABLE events_whole;
COMMIT;
