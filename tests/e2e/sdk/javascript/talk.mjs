// Where the server and the site are, and clients of the server.
import Firecrawl, { FirecrawlAppV1 } from "@mendable/firecrawl-js";

export const SITE = process.env.SITE;
export const HOME = process.env.HOME_SITE;
export const LOCKED = process.env.LOCKED_URL;
export const PAGES = 150;
export const NOBODY = "01890000-0000-7000-8000-000000000000";

const apiUrl = process.env.API_URL;
const apiKey = process.env.API_KEY;

export const client = new Firecrawl({ apiKey, apiUrl });
export const first = new FirecrawlAppV1({ apiKey, apiUrl });
export const knock = (key) => new Firecrawl({ apiKey: key, apiUrl: LOCKED });

/** What is seen once it is as wanted. */
export async function until(look, wanted, timeoutMs = 60_000) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (wanted(seen)) return seen;
    if (Date.now() > end) throw new Error(`still ${JSON.stringify(seen)?.slice(0, 500)} after ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A watcher's events, once it has ended. */
export function watched(watcher, start = () => watcher.start()) {
  return new Promise((resolve, reject) => {
    const documents = [];
    const states = [];
    const on = watcher.on ? (name, call) => watcher.on(name, call)
      : (name, call) => watcher.addEventListener(name, (event) => call(event.detail));
    on("document", (page) => documents.push(page.data ?? page));
    if (watcher.on) on("snapshot", (job) => states.push(job.status));
    on("done", (job) => resolve({ documents, states, job }));
    on("error", (error) => reject(new Error(JSON.stringify(error))));
    start();
  });
}
