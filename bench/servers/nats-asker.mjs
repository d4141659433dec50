// Raw request-reply on NATS: asks the same question again and again, so many at a time, when it is told to.
import { connect } from "@nats-io/transport-node";
import { load } from "../load.mjs";
import { reportTo } from "./report.mjs";

const { BENCH_NATS: servers, BENCH_SUBJECT: subject, BENCH_QUESTION: question } = process.env;
const connection = await connect({ servers });
const work = () => connection.request(subject, question, { timeout: 10_000 });
const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
process.on("message", (asked) => {
  if (typeof asked !== "object") return;
  const { apart = false, ...options } = asked;
  void load({ ...options, work, ...(apart ? { between: pause } : {}) }).then((result) =>
    process.send(result),
  );
});
reportTo(process, {});
