// BullMQ: `node bullmq_jobs.mjs REDIS-PORT ONES JOBS`, in a folder where it is installed.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const { Queue, Worker } = createRequire(process.cwd() + "/")("bullmq");
const connection = { host: "127.0.0.1", port: Number(process.argv[2]), maxRetriesPerRequest: null };
const ones = Number(process.argv[3]);
const jobs = Number(process.argv[4]);
const queue = new Queue("jobs", { connection, defaultJobOptions: { removeOnComplete: true } });
await queue.waitUntilReady();

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function told() {
  console.log("ready");
  await lines.next();
}

async function single() {
  const lane = async (share) => {
    for (let n = 0; n < share; n++) await queue.add("job", { n });
  };
  await Promise.all(Array.from({ length: 10 }, (_, n) => lane(Math.floor((ones + n) / 10))));
}

async function bulk() {
  for (let at = 0; at < jobs; at += 500)
    await queue.addBulk(Array.from({ length: Math.min(500, jobs - at) }, (_, n) => ({ name: "job", data: { n } })));
}

async function work() {
  let left = ones + jobs;
  await new Promise((resolve) => {
    const worker = new Worker("jobs", async () => {}, { connection, concurrency: 10 });
    worker.on("completed", () => {
      if (--left === 0) worker.close().then(resolve);
    });
  });
}

await told();
for (const act of [single, bulk, work]) {
  await act();
  await told();
}
process.exit(0);
