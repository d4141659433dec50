import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { decode, encode } from "jpeg-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { VirtualDevice } from "../src/index.ts";
import { useHelloServer } from "./hello-server.ts";
import type { ServerConnection } from "./scripted-server.ts";

interface Upload {
  readonly request: IncomingMessage;
  readonly body: Buffer;
}

const site = useHelloServer();
let web: Server;
let base: string;
let uploads: Upload[];
let respond: (response: ServerResponse) => void;
let device: VirtualDevice;

beforeEach(async () => {
  uploads = [];
  respond = (response) => response.end("seen");
  web = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      uploads.push({ request, body: Buffer.concat(parts) });
      respond(response);
    });
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  device = new VirtualDevice({ board: { mac: "02:00:00:00:00:09" }, timing: { rebootDelayMs: 0 } });
});

afterEach(async () => {
  await device.stop();
  web.closeAllConnections();
  await new Promise((resolve) => web.close(resolve));
});

async function ask(method: string, params: object): Promise<string> {
  const reply = device.waitFor("reply");
  device.receiveMcp(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  const { result, error } = JSON.parse((await reply).payload.toString()) as {
    result?: { content?: { text: string }[] };
    error?: { message: string };
  };
  return error === undefined ? (result?.content?.[0]?.text ?? "") : `error: ${error.message}`;
}

async function call(name: string, args: object): Promise<string> {
  return await ask("tools/call", { name, arguments: args });
}

async function see(token?: string): Promise<void> {
  await ask("initialize", { capabilities: { vision: { url: `${base}/vision`, token } } });
}

/** The parts of a multipart body, by name. */
function parts(upload: Upload): Map<string, { readonly head: string; readonly content: Buffer }> {
  const boundary = /boundary=(.+)$/.exec(upload.request.headers["content-type"] ?? "")?.[1] ?? "";
  const found = new Map<string, { head: string; content: Buffer }>();
  for (const piece of upload.body.toString("latin1").split(`--${boundary}`).slice(1, -1)) {
    const [head = "", ...rest] = piece.split("\r\n\r\n");
    const content = Buffer.from(rest.join("\r\n\r\n").slice(0, -2), "latin1");
    found.set(/name="([^"]+)"/.exec(head)?.[1] ?? "", { head: head.trim(), content });
  }
  return found;
}

function first(): Upload {
  const upload = uploads[0];
  if (upload === undefined) throw new RangeError("nothing was uploaded");
  return upload;
}

describe("a photo", () => {
  it("is uploaded as the firmware does, and is a valid image", async () => {
    await see("tok en");
    expect(await call("self.camera.take_photo", { question: "这是什么？" })).toBe("seen");
    const { headers } = first().request;
    expect(headers["device-id"]).toBe("02:00:00:00:00:09");
    expect(headers["client-id"]).toBe(device.board.clientId);
    expect(headers.authorization).toBe("Bearer tok en");
    expect(headers["content-type"]).toBe("multipart/form-data; boundary=----ESP32_CAMERA_BOUNDARY");
    expect(headers["transfer-encoding"]).toBe("chunked");
    expect(headers["content-length"]).toBeUndefined();
    expect(headers.connection).toBe("close");
    const form = parts(first());
    expect([...form.keys()]).toEqual(["question", "file"]);
    expect(form.get("question")?.content.toString("utf8")).toBe("这是什么？");
    expect(form.get("file")?.head).toContain('filename="camera.jpg"\r\nContent-Type: image/jpeg');
    expect(decode(form.get("file")?.content ?? [])).toMatchObject({ width: 320, height: 240 });
  });

  it("supports bytes that are not UTF-8, in the question and in the answer", async () => {
    await see();
    respond = (response) => response.end(Buffer.from("\xff seen \xe4\xbd", "latin1"));
    const reply = device.waitFor("reply");
    device.receiveMcp(
      Buffer.from(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"self.camera.take_photo","arguments":{"question":"\xfe?"}}}',
        "latin1",
      ),
    );
    expect((await reply).payload.toString("latin1")).toContain('"text":"\xff seen \xe4\xbd"');
    expect(parts(first()).get("question")?.content.toString("latin1")).toBe("\xfe?");
  });

  it("is uploaded without a token if there is none", async () => {
    await see();
    await call("self.camera.take_photo", { question: "?" });
    expect(first().request.headers.authorization).toBeUndefined();
  });

  it("shows the state of the device", async () => {
    await see();
    await call("self.camera.take_photo", { question: "?" });
    await call("self.screen.set_theme", { theme: "dark" });
    await call("self.camera.take_photo", { question: "?" });
    const [light, dark] = uploads.map((upload) => {
      const { data } = decode(parts(upload).get("file")?.content ?? []);
      const reds = data.filter((_, index) => index % 4 === 0);
      return reds.reduce((sum, red) => sum + red, 0) / reds.length;
    });
    expect(light).toBeGreaterThan(180);
    expect(dark).toBeLessThan(80);
  });

  it("fails when the server does not answer with exactly 200", async () => {
    await see();
    respond = (response) => response.writeHead(201).end("made");
    expect(await call("self.camera.take_photo", { question: "?" })).toBe("error: Failed to upload photo");
  });

  it("returns an empty text when the answer breaks off", async () => {
    await see();
    respond = (response) => {
      response.writeHead(200, { "Content-Length": "100" });
      response.write("half");
      setImmediate(() => response.destroy());
    };
    expect(await call("self.camera.take_photo", { question: "?" })).toBe("");
  });

  it.each([
    ["chunked", "self.camera.take_photo"],
    ["announced", "self.camera.take_photo"],
    ["chunked", "self.screen.snapshot"],
  ])("%s reply of 8,192 bytes to %s: the board hangs until it loses power", async (framing, name) => {
    const board = site.make({ timing: { bootMs: 1 } });
    const reply = (bytes: number) => (response: ServerResponse) => {
      response.writeHead(200, framing === "chunked" ? {} : { "Content-Length": bytes });
      response.write("x".repeat(4_000));
      response.end("x".repeat(bytes - 4_000));
    };
    const upload = async (connection: ServerConnection): Promise<void> => {
      connection.mcp({ id: 1, method: "initialize", params: { capabilities: { vision: { url: base } } } });
      expect(await connection.reply()).toMatchObject({ id: 1 });
      connection.mcp({
        id: 2,
        method: "tools/call",
        params: { name, arguments: { question: "?", url: base } },
      });
    };
    let connection = await site.welcomed(board);
    respond = reply(8_191);
    await upload(connection);
    expect(await connection.reply()).toMatchObject({ id: 2, result: { isError: false } });
    respond = reply(8_192);
    let hung = board.waitFor("hung");
    await upload(connection);
    expect(await hung).toMatchObject({ cause: "an HTTP reply of 8192 bytes or more" });
    connection.mcp({ id: 3, method: "initialize" });
    // Pings are still answered, because they do not reach the main loop.
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
    board.reboot();
    connection = await site.current.connections.take();
    await connection.welcome();
    hung = board.waitFor("hung");
    await upload(connection);
    await hung;
    await board.stop();
    expect(await connection.closed).toBe(1006);
    expect(connection.texts.waiting).toEqual([]);
  });

  it("fails when the camera fails", async () => {
    await device.stop();
    device = new VirtualDevice({ picture: async () => await Promise.resolve(undefined) });
    await see();
    expect(await call("self.camera.take_photo", { question: "?" })).toBe("error: Failed to capture photo");
  });
});

describe("the screen", () => {
  it("is uploaded as a snapshot, without credentials", async () => {
    expect(await call("self.screen.snapshot", { url: `${base}/up`, quality: 10 })).toBe("true");
    expect(first().request.headers.authorization).toBeUndefined();
    expect(first().request.headers["device-id"]).toBeUndefined();
    const form = parts(first());
    expect(form.get("file")?.head).toContain('filename="screenshot.jpg"');
    expect(decode(form.get("file")?.content ?? []).width).toBeGreaterThan(0);
  });

  it("shows an image with a Content-Length", async () => {
    const image = encode({ width: 2, height: 2, data: Buffer.alloc(16, 255) }).data;
    respond = (response) => response.writeHead(200, { "Content-Length": image.length }).end(image);
    expect(await call("self.screen.preview_image", { url: `${base}/a.jpg` })).toBe("true");
    expect(device.state.get("preview.url")).toBe(`${base}/a.jpg`);
    respond = (response) => {
      response.write(image);
      response.end();
    };
    expect(await call("self.screen.preview_image", { url: `${base}/b.jpg` })).toBe(
      `error: Failed to allocate memory for image: ${base}/b.jpg`,
    );
  });
});

describe("an address", () => {
  const path = "/a/../b?x=1#part?y=2";

  it("is requested from its first slash on, unchanged and with the fragment", async () => {
    await ask("initialize", { capabilities: { vision: { url: `${base}${path}` } } });
    await call("self.camera.take_photo", { question: "?" });
    await call("self.screen.snapshot", { url: `${base}/up#` });
    await call("self.screen.preview_image", { url: `${base.toUpperCase()}/p ng#x` });
    const reboot = device.waitFor("reboot");
    respond = (response) => response.writeHead(200, { "Content-Length": 1 }).end("x");
    void call("self.upgrade_firmware", { url: `${base}${path}` }).catch(() => undefined);
    await reboot;
    expect(uploads.map(({ request }) => request.url)).toEqual([
      path,
      "/up#",
      // A space would end the address within the request line.
      "/p%20ng#x",
      path,
    ]);
  });

  it("is not percent-encoded, so that Node's server rejects non-ASCII characters", async () => {
    const text = await call("self.screen.preview_image", { url: `${base}/\u00e4` });
    expect(text).toBe("error: Unexpected status code: 400");
  });

  it("cannot be opened with anything else before its first slash", async () => {
    const port = base.slice(base.lastIndexOf(":"));
    for (const url of [
      `${base}#x`,
      `${base}?x=1`,
      `http://u@127.0.0.1${port}/`,
      `${base}x/`,
      "http://:80/",
    ]) {
      const text = await call("self.screen.preview_image", { url });
      expect(text).toBe(`error: Failed to open URL: ${url}`);
    }
    expect(uploads).toEqual([]);
  });
});

describe("an upgrade", () => {
  it("restarts the device when the image is complete", async () => {
    respond = (response) => response.writeHead(200, { "Content-Length": 5_000 }).end(Buffer.alloc(5_000));
    const reboot = device.waitFor("reboot");
    device.receiveMcp(
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "self.upgrade_firmware", arguments: { url: `${base}/fw.bin` } },
      }),
    );
    expect(await reboot).toMatchObject({ cause: "firmware upgrade" });
  });
});
