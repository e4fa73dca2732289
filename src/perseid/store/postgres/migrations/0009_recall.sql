-- Which of these links are there already: their ordinals. A link without a spelling is known by its key, one with a
-- spelling only if that is taken, or kept beside the one that is. Nothing is locked: a link that is there stays.
CREATE FUNCTION recall_v1(crawls bigint[], keys bigint[], spellings text[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  -- Each probe is a subquery of its own: as a join it may be planned as a look at every URL there is.
  RETURN ARRAY(
    SELECT f.i FROM unnest(crawls, keys, spellings) WITH ORDINALITY f(crawl, key, spelling, i)
    WHERE CASE WHEN f.spelling IS NULL
      THEN (SELECT 1 FROM url u WHERE u.crawl = f.crawl AND u.key = f.key LIMIT 1) IS NOT NULL
      ELSE (SELECT u.url FROM url u WHERE u.crawl = f.crawl AND u.key = f.key LIMIT 1) = f.spelling
        OR (SELECT 1 FROM variant v WHERE v.crawl = f.crawl AND v.key = f.key AND md5(v.url) = md5(f.spelling)
            LIMIT 1) IS NOT NULL
      END);
END $$;
