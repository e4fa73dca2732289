// Crawls and watchers, by the class of the second version.
import assert from "node:assert/strict";
import test from "node:test";
import { client, HOME, PAGES, SITE, until, watched } from "./talk.mjs";

test("a crawl is waited for", async () => {
  const job = await client.crawl(HOME, { limit: 5, pollInterval: 1, timeout: 120, integration: "_perseid" });
  assert.deepEqual([job.status, job.completed, job.total, job.data.length], ["completed", 5, 5, 5]);
});

test("all pages come over several answers", async () => {
  const { id } = await client.startCrawl(SITE, { limit: 500 });
  const job = await until(() => client.getCrawlStatus(id), (job) => job.status === "completed", 120_000);
  assert.equal(job.data.length, PAGES);
  assert.equal(new Set(job.data.map((page) => page.metadata.url)).size, PAGES);
  const part = await client.getCrawlStatus(id, { autoPaginate: false });
  assert.equal(part.data.length, 100);
  assert.ok(part.next.includes(`/v2/crawl/${id}?skip=100`));
});

test("paths and options of pages", async () => {
  const job = await client.crawl(SITE, {
    includePaths: ["^/blog"], excludePaths: ["page-1"], limit: 100, maxDiscoveryDepth: 3, sitemap: "skip",
    crawlEntireDomain: true, allowExternalLinks: false, allowSubdomains: true, ignoreQueryParameters: true,
    maxConcurrency: 4, scrapeOptions: { formats: ["markdown", "links"], onlyMainContent: false }, pollInterval: 1,
  });
  assert.equal(job.data.length, 10);
  assert.ok(job.data.every((page) => page.markdown && page.links));
});

test("a running crawl is active until it is called off", async () => {
  const { id } = await client.startCrawl(`${SITE}/late`, { limit: 50, maxConcurrency: 1 });
  const { crawls } = await client.getActiveCrawls();
  assert.equal(crawls.find((crawl) => crawl.id === id).url, `${SITE}/late`);
  assert.equal(await client.cancelCrawl(id), true);
  assert.equal((await client.getCrawlStatus(id)).status, "cancelled");
});

test("errors name what robots.txt forbids", async () => {
  const { id } = await client.startCrawl(`${SITE}/private/diary`, { limit: 5 });
  await until(() => client.getCrawlStatus(id), (job) => job.status === "completed");
  assert.deepEqual((await client.getCrawlErrors(id)).robotsBlocked, [`${SITE}/private/diary`]);
});

test("a prompt chooses options", async () => {
  assert.deepEqual((await client.crawlParamsPreview(SITE, "Only blog and docs")).includePaths, ["blog/.*", "docs/.*"]);
});

test("a crawl is watched to its end", async () => {
  const { id } = await client.startCrawl(`${SITE}/recipes`, { limit: 30 });
  const { documents, states, job } = await watched(client.watcher(id, { pollInterval: 1, timeout: 60 }));
  assert.equal(new Set(documents.map((page) => page.metadata.sourceURL)).size, 21);
  assert.equal(documents.length, 21);
  assert.ok(states.length > 0);
  assert.equal(job.status, "completed");
});

test("a batch is watched to its end", async () => {
  const { id } = await client.startBatchScrape([`${HOME}/about`, `${HOME}/contact`]);
  const { job } = await watched(client.watcher(id, { kind: "batch", pollInterval: 1, timeout: 60 }));
  assert.equal(job.status, "completed");
  assert.equal(job.data.length, 2);
});
