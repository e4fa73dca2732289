// The class of the first version. It wants parameters everywhere, though it declares that they may be left out.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import test from "node:test";
import { first, HOME, NOBODY, PAGES, SITE, until, watched } from "./talk.mjs";

const URLS = Array.from({ length: 5 }, (_, n) => `${SITE}/api/page-${n}`);
const schema = { type: "object", properties: { title: { type: "string" } }, required: ["title"] };

test("a page in all forms", async () => {
  const page = await first.scrapeUrl(`${SITE}/guides/page-1`, { formats: ["markdown", "html", "rawHtml", "links"] });
  assert.ok(page.success);
  assert.match(page.markdown, /^# Guides page 1/);
  assert.ok(page.html && page.rawHtml && page.links);
  assert.equal(page.metadata.title, "Guides page 1");
});

test("json by a schema", async () => {
  const page = await first.scrapeUrl(URLS[0], { formats: ["json"], jsonOptions: { prompt: "The title", schema } });
  assert.deepEqual(page.json, { title: "Api page 0" });
});

test("a pdf, read and as bytes", async () => {
  assert.match((await first.scrapeUrl(`${SITE}/paper.pdf`, { parsePDF: true })).markdown, /spectrophotometric/);
  const bytes = await first.scrapeUrl(`${SITE}/paper.pdf`, { parsePDF: false, maxAge: 0 });
  assert.equal(Buffer.from(bytes.markdown, "base64").subarray(0, 4).toString(), "%PDF");
});

test("a whole site over several answers", async () => {
  const job = await first.crawlUrl(SITE, { limit: 500 }, 2);
  assert.equal(job.status, "completed");
  assert.equal(job.data.length, PAGES);
});

test("what a job missed", async () => {
  const started = await first.asyncCrawlUrl(`${SITE}/private/diary`, { limit: 5 });
  await until(() => first.checkCrawlStatus(started.id), (job) => job.status === "completed");
  assert.deepEqual((await first.checkCrawlErrors(started.id)).robotsBlocked, [`${SITE}/private/diary`]);
  const batch = await first.asyncBatchScrapeUrls(URLS, { formats: ["markdown"] });
  await until(() => first.checkBatchScrapeStatus(batch.id), (job) => job.status === "completed");
  assert.deepEqual((await first.checkBatchScrapeErrors(batch.id)).errors, []);
});

test("a crawl with the options of its time", async () => {
  const job = await first.crawlUrl(SITE, {
    includePaths: ["^/blog"], maxDepth: 2, ignoreSitemap: true, limit: 10, allowBackwardLinks: true,
    scrapeOptions: { formats: ["markdown", "links"], onlyMainContent: true },
  }, 2);
  assert.ok(job.data.length > 0 && job.data.length <= 10);
});

test("a crawl in steps", async () => {
  const started = await first.asyncCrawlUrl(`${SITE}/late`, { limit: 40, maxConcurrency: 1 });
  assert.ok(started.success);
  assert.equal((await first.checkCrawlStatus(started.id)).status, "scraping");
  assert.equal((await first.cancelCrawl(started.id)).status, "cancelled");
});

test("a key begins one crawl", async () => {
  const key = randomUUID();
  assert.ok((await first.asyncCrawlUrl(HOME, { limit: 1 }, key)).id);
  await assert.rejects(first.asyncCrawlUrl(HOME, { limit: 1 }, key), /409/);
});

test("a batch, waited for and in steps", async () => {
  assert.equal((await first.batchScrapeUrls(URLS, { formats: ["markdown"] }, 2)).data.length, 5);
  const started = await first.asyncBatchScrapeUrls(URLS, { formats: ["markdown"] });
  const job = await until(() => first.checkBatchScrapeStatus(started.id, true), (job) => job.status === "completed");
  assert.equal(job.data.length, 5);
});

test("a map is a list of addresses", async () => {
  const found = await first.mapUrl(SITE, { limit: 500 });
  assert.ok(found.links.length >= PAGES);
  assert.ok(found.links.includes(`${SITE}/about`));
});

test("nobody's crawl is an error", async () => {
  await assert.rejects(first.checkCrawlStatus(NOBODY), /404|not found/i);
});

test("a crawl is watched to its end", async () => {
  const watcher = await first.crawlUrlAndWatch(`${SITE}/changes`, { limit: 30 });
  const { documents, job } = await watched(watcher, () => {});
  assert.equal(new Set(documents.map((page) => page.metadata.sourceURL)).size, 21);
  assert.equal(job.status, "completed");
});

test("a batch is watched to its end", async () => {
  const watcher = await first.batchScrapeUrlsAndWatch([`${HOME}/about`, `${HOME}/contact`], { formats: ["markdown"] });
  assert.equal((await watched(watcher, () => {})).job.status, "completed");
});

test("the account", async () => {
  assert.ok((await first.getCreditUsage()).data.remaining_credits > 0);
  assert.ok((await first.getQueueStatus()).maxConcurrency > 0);
});
