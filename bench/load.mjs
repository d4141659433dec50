import http from "node:http";

/** Runs `work` again and again, `parallel` at a time, for so long; gives rates and latencies. */
export async function load({ parallel, seconds, work, between }) {
  const latencies = [];
  const until = performance.now() + seconds * 1000;
  const started = performance.now();
  const worker = async (index) => {
    while (performance.now() < until) {
      const from = performance.now();
      await work(index);
      latencies.push(performance.now() - from);
      await between?.();
    }
  };
  await Promise.all(Array.from({ length: parallel }, (_, index) => worker(index)));
  const elapsed = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return { count: latencies.length, perSecond: latencies.length / elapsed, p50: at(0.5), p99: at(0.99) };
}

/** POST with kept connections; checks the status, because a refused call must not count as a fast one. */
export function poster(parallel, headers) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: parallel });
  const post = (url, body, more = {}) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const request = http.request(
        url,
        {
          method: "POST",
          agent,
          headers: {
            ...headers,
            ...more,
            "content-type": "application/json",
            "content-length": Buffer.byteLength(text),
          },
        },
        (response) => {
          let answer = "";
          response.setEncoding("utf8");
          response.on("data", (chunk) => {
            answer += chunk;
          });
          response.on("end", () => {
            if (response.statusCode === 200 || response.statusCode === 202) resolve(answer);
            else reject(new Error(`status ${response.statusCode}: ${answer}`));
          });
        },
      );
      request.on("error", reject);
      request.end(text);
    });
  return { post, close: () => agent.destroy() };
}
