// The least a Node server can be: it listens and says so.
import http from "node:http";

const server = http.createServer((_request, response) => response.end("ok"));
server.listen(0, "127.0.0.1", () =>
  console.log(JSON.stringify({ event: "ready", port: server.address().port })),
);
