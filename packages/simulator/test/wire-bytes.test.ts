import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadToolsFile, VirtualDevice } from "../src/index.ts";
import { ScriptedBroker } from "./scripted-broker.ts";
import type { ServerConnection } from "./scripted-server.ts";
import { useWelcomingServer } from "./welcoming-server.ts";

const site = useWelcomingServer();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tools-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A connected device with the tools of a file. */
async function withTools(name: string, text: string): Promise<ServerConnection> {
  const device = site.make();
  await addTools(device, name, text);
  return await site.welcomed(device);
}

async function addTools(device: VirtualDevice, name: string, text: string): Promise<void> {
  const path = join(folder, name);
  await writeFile(path, text);
  await (await loadToolsFile(path)).register(device);
}

async function textOf(connection: ServerConnection, name: string, args: object = {}): Promise<string> {
  connection.mcp({ id: 1, method: "tools/call", params: { name, arguments: args } });
  const { result, error } = await connection.reply<{
    result?: { content: { text: string }[] };
    error?: { message: string };
  }>();
  return result?.content[0]?.text ?? `error: ${error?.message}`;
}

/** One text frame of exactly these bytes; each character of `text` is one byte. */
function sendBytes({ socket }: ServerConnection, text: string): void {
  socket.send(Buffer.from(text, "latin1"), { binary: false });
}

function echoCall(id: number, argument: string): string {
  return `{"type":"mcp","payload":{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"self.echo","arguments":{"text":"${argument}"}}}}`;
}

const echoTool = `
- name: self.echo
  properties: { text: { type: string } }
  returns: { echo: text }
`;

describe("numbers on the wire", () => {
  it("are printed as cJSON prints them", async () => {
    const connection = await withTools(
      "numbers.yaml",
      `
- name: self.numbers
  returns: { value: [0.30000000000000004, 1.7976931348623157e308, 2.98023223876953125e-08, -0.0, .inf, 1e15] }
- { name: self.sum, returns: 0.30000000000000004 }
`,
    );
    expect(await textOf(connection, "self.numbers")).toBe(
      "[0.3,1.79769313486232e+308,2.9802322387695312e-08,0,null,1e+15]",
    );
    expect(await textOf(connection, "self.sum")).toBe("0.3");
  });
});

describe("a raw NUL", () => {
  const between = '{"type":"mcp",\0"payload":{\0"jsonrpc":"2.0","id":1,\0"method":\0"initialize"\0}\0}\0';

  it("is a byte like any other in a WebSocket frame: white space outside strings, their end inside", async () => {
    const connection = await withTools("echo.yaml", echoTool);
    sendBytes(connection, between);
    expect(await connection.reply()).toMatchObject({ id: 1, result: { protocolVersion: "2024-11-05" } });
    sendBytes(connection, echoCall(2, "kept\0dropped"));
    expect(await connection.reply()).toMatchObject({ id: 2, result: { content: [{ text: "kept" }] } });
    sendBytes(connection, echoCall(3, "kept").replace("self.echo", "self.echo\0dropped"));
    expect(await connection.reply()).toMatchObject({ id: 3, result: { content: [{ text: "kept" }] } });
    // What follows in the string is still read: a wrong escape there fails the document.
    sendBytes(connection, echoCall(4, "kept\0\\q"));
    sendBytes(connection, echoCall(5, "kept\\\0dropped"));
    sendBytes(connection, "\0".repeat(3));
    await connection.quiet();
    expect(connection.texts.waiting).toBe(0);
  });

  it("ends a message that comes over MQTT", async () => {
    const broker = await ScriptedBroker.start();
    const device = new VirtualDevice({ mqtt: broker.settings });
    try {
      await addTools(device, "echo.yaml", echoTool);
      await device.connect();
      const connection = await broker.connections.take();
      const send = (text: string): void => connection.send(Buffer.from(text, "latin1"));
      for (const text of [between, echoCall(2, "cut\0off")]) {
        const ignored = device.waitFor("frame-ignored");
        send(text);
        expect(await ignored).toMatchObject({ why: "not a message with a type" });
      }
      send(`${echoCall(3, "whole")}\0{`);
      expect(await connection.json()).toMatchObject({ payload: { id: 3 } });
      expect(connection.texts.waiting).toBe(0);
    } finally {
      await device.stop();
      await broker.stop();
    }
  });
});
