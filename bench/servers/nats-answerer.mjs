// The least a node can do with a question: send back an answer of the right size.
import { connect } from "@nats-io/transport-node";
import { reportTo } from "./report.mjs";

const { BENCH_NATS: servers, BENCH_SUBJECT: subject, BENCH_ANSWER: answer } = process.env;
const connection = await connect({ servers });
connection.subscribe(subject, { callback: (_error, message) => message.respond(answer) });
await connection.flush();
reportTo(process, {});
