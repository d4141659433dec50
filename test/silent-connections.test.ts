import net from "node:net";
import { describe, expect, it } from "vitest";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { openSite } from "./site.ts";

class Caller {
  readonly #socket: net.Socket;
  heard = "";
  ended = false;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.heard += chunk.toString();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.ended = true;
    });
  }

  static async connect(url: string): Promise<Caller> {
    const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
    await new Promise((resolve) => socket.once("connect", resolve));
    return new Caller(socket);
  }

  say(text: string): void {
    this.#socket.write(text);
  }

  leave(): void {
    this.#socket.destroy();
  }
}

const request = "GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";

describe("a connection to the HTTP port", () => {
  it("is closed after 15 to 20 s when it sends no complete request head", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const silent = await Caller.connect(site.url);
    const slow = await Caller.connect(site.url);
    slow.say("GET /healthz HTTP/1.1\r\nhost: ");
    // Answered after both others were accepted, because connections are accepted in order.
    expect((await fetch(`${site.url}/healthz`)).status).toBe(200);
    clock.advance(14_000);
    expect((await fetch(`${site.url}/healthz`)).status).toBe(200);
    expect([silent.ended, slow.ended]).toEqual([false, false]);
    clock.advance(6_000);
    await until(() => silent.ended && slow.ended, "the end of both");
  });

  it("is closed when the body of a board's request is not complete within 20 s", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const slow = await Caller.connect(site.url);
    const head = `POST /xiaozhi/ota/ HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n`;
    slow.say(`${head}device-id: 02:00:00:00:00:01\r\nclient-id: slow\r\ncontent-length: 100\r\n\r\n{`);
    expect((await fetch(`${site.url}/healthz`)).status).toBe(200);
    clock.advance(19_000);
    expect((await fetch(`${site.url}/healthz`)).status).toBe(200);
    expect(slow.ended).toBe(false);
    clock.advance(1_000);
    await until(() => slow.ended, "its end");
  });

  it("stays open for more requests after the first one", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const caller = await Caller.connect(site.url);
    caller.say(request);
    await until(() => caller.heard.includes('{"status":"ok"}'), "the first answer");
    clock.advance(21_000);
    caller.heard = "";
    caller.say(request);
    await until(() => caller.heard.includes('{"status":"ok"}'), "the second answer");
    caller.leave();
  });
});
