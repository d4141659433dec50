// Callers in a process of their own, so that they do not take the devices' time.
import { openLoop } from "../open-loop.mjs";

async function call({ paths, token, body, ...load }) {
  const requests = paths.map((path) =>
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  );
  process.send(await openLoop({ ...load, requestOf: (index) => requests[index % requests.length] }));
}

process.on("message", (order) => {
  if (order === "stop") process.exit(0);
  void call(order);
});
process.on("disconnect", () => process.exit(0));
process.send({ ready: {} });
