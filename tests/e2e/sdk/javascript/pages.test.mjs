// Single pages, batches, maps, files and the account, by the class of the second version.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { z } from "zod";
import { client, HOME, knock, LOCKED, NOBODY, PAGES, SITE, until } from "./talk.mjs";

const PAGE = `${SITE}/guides/page-3`;
const URLS = Array.from({ length: 20 }, (_, n) => `${SITE}/api/page-${n}`);
const LATE = Array.from({ length: 40 }, (_, n) => `${SITE}/late/${n}`);

test("a page in all forms", async () => {
  const page = await client.scrape(PAGE, { formats: ["markdown", "html", "rawHtml", "links", "images"] });
  assert.match(page.markdown, /^# Guides page 3/);
  assert.match(page.html, /<h2>First things<\/h2>/);
  assert.match(page.rawHtml, /Imprint/);
  assert.deepEqual(page.images, []);
  assert.equal(page.metadata.title, "Guides page 3");
  assert.equal(page.metadata.statusCode, 200);
  assert.equal(page.metadata.sourceURL, PAGE);
});

test("options of a page", async () => {
  const page = await client.scrape(`${SITE}/echo`, {
    formats: ["markdown"], headers: { "X-Orchard": "walls" }, excludeTags: ["nav"], onlyMainContent: false,
    timeout: 30_000, waitFor: 0, mobile: false, parsers: ["pdf"], location: { country: "de", languages: ["de"] },
    skipTlsVerification: false, removeBase64Images: true, fastMode: true, blockAds: true, proxy: "auto", maxAge: 0,
    storeInCache: false, integration: "_perseid",
  });
  assert.match(page.markdown, /x-orchard: walls/);
  assert.match(page.markdown, /accept-language: de/);
});

test("json by a schema of zod, and a summary", async () => {
  const schema = z.object({ title: z.string() });
  const page = await client.scrape(PAGE, { formats: ["summary", { type: "json", prompt: "The title", schema }] });
  assert.deepEqual(page.json, { title: "Guides page 3" });
  assert.ok(page.summary);
});

test("a batch is waited for", async () => {
  const job = await client.batchScrape(URLS, { options: { formats: ["markdown"] }, pollInterval: 1, timeout: 120 });
  assert.equal(job.status, "completed");
  assert.equal(job.data.length, 20);
});

test("a batch in steps", async () => {
  const started = await client.startBatchScrape([...URLS, "http://"], { ignoreInvalidURLs: true, maxConcurrency: 4 });
  assert.deepEqual(started.invalidURLs, ["http://"]);
  await until(() => client.getBatchScrapeStatus(started.id), (job) => job.status === "completed");
  const few = await client.getBatchScrapeStatus(started.id, { autoPaginate: false });
  assert.equal(few.next, null);
  assert.deepEqual((await client.getBatchScrapeErrors(started.id)).errors, []);
});

test("a batch is added to", async () => {
  const started = await client.startBatchScrape(LATE.slice(0, 10));
  const more = await client.startBatchScrape(URLS.slice(0, 2), { appendToId: started.id });
  assert.equal(more.id, started.id);
  const job = await until(() => client.getBatchScrapeStatus(started.id), (job) => job.status === "completed");
  assert.equal(job.completed, 12);
});

test("a batch is called off", async () => {
  const started = await client.startBatchScrape(LATE, { maxConcurrency: 1 });
  assert.equal(await client.cancelBatchScrape(started.id), true);
  assert.equal((await client.getBatchScrapeStatus(started.id)).status, "cancelled");
});

test("a map", async () => {
  const { links } = await client.map(SITE, { limit: 500, includeSubdomains: false, sitemap: "include", timeout: 15_000 });
  assert.equal(new Set(links.map((link) => link.url)).size, links.length);
  // Pages that other tests have met are known, too.
  assert.ok(links.length >= PAGES);
  assert.ok((await client.map(SITE, { search: "blog" })).links[0].url.includes("/blog"));
});

for (const [name, words] of [["paper.pdf", /spectrophotometric/], ["report.docx", /walls of the orchard/]]) {
  test(`${name} is read`, async () => {
    const data = readFileSync(`${process.env.FILES}/${name}`);
    assert.match((await client.parse({ data, filename: name }, { formats: ["markdown"] })).markdown, words);
  });
}

test("a file of HTML is read, an image is not", async () => {
  const file = { data: "<h1>Sent</h1><p>Text</p>", filename: "a.html", contentType: "text/html" };
  assert.equal((await client.parse(file)).markdown, "# Sent\n\nText");
  await assert.rejects(client.parse({ data: Buffer.from("png"), filename: "a.png", contentType: "image/png" }));
});

test("the account", async () => {
  assert.ok((await client.getConcurrency()).maxConcurrency > 0);
  assert.ok((await client.getCreditUsage()).remainingCredits > 0);
  assert.ok((await client.getTokenUsage()).remainingTokens > 0);
  assert.ok((await client.getQueueStatus()).maxConcurrency > 0);
  assert.ok((await client.getCreditUsageHistorical()).periods);
  assert.ok((await client.getTokenUsageHistorical()).periods);
});

for (const [what, call, status] of [
  ["a bad request", () => client.scrape("ftp://somewhere.example/"), 400],
  ["actions", () => client.scrape(SITE, { actions: [{ type: "wait", milliseconds: 9 }] }), 400],
  ["a wrong key", () => knock("fc-wrong").getConcurrency(), 401],
  ["nobody's job", () => client.getCrawlStatus(NOBODY), 404],
  ["no cached page", () => client.scrape(`${SITE}/never-seen`, { lockdown: true }), 404],
  ["a page that never answers", () => client.scrape(`${SITE}/slow`, { timeout: 1_500 }), 408],
]) {
  test(`${what} is an error of ${status}`, async () => {
    await assert.rejects(call(), (error) => {
      assert.equal(error.status, status, error.message);
      return true;
    });
  });
}

test("too many requests are an error of 429", async () => {
  const slowed = knock(process.env.SLOWED_KEY);
  await assert.rejects(Promise.all(Array.from({ length: 20 }, () => slowed.getConcurrency())), { status: 429 });
  assert.ok(LOCKED);
});

test("an ended batch of another host", async () => {
  const job = await client.batchScrape([`${HOME}/about`], { pollInterval: 1, timeout: 60 });
  assert.equal(job.data[0].metadata.url, `${HOME}/about`);
});
