import { isUtf8 } from "node:buffer";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fromBuffer, fromText, toText } from "../src/esp32/byte-text.ts";
import { loadToolsFile, VirtualDevice } from "../src/index.ts";
import { useHelloServer } from "./hello-server.ts";
import { type BrokerConnection, ScriptedBroker } from "./scripted-broker.ts";
import type { ServerConnection } from "./scripted-server.ts";

const site = useHelloServer();
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

/** Runs `use` with a device that has the tools of a file and its own broker. */
async function overMqtt(
  tools: string,
  use: (device: VirtualDevice, connection: BrokerConnection) => Promise<void>,
): Promise<void> {
  const broker = await ScriptedBroker.start();
  const device = new VirtualDevice({ mqtt: broker.settings });
  try {
    await addTools(device, "tools.yaml", tools);
    await device.connect();
    await use(device, await broker.connections.take());
  } finally {
    await device.stop();
    await broker.stop();
  }
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

  it("is white space outside strings and the end of a string inside, in a WebSocket frame", async () => {
    const connection = await withTools("echo.yaml", echoTool);
    sendBytes(connection, between);
    expect(await connection.reply()).toMatchObject({ id: 1, result: { protocolVersion: "2024-11-05" } });
    sendBytes(connection, echoCall(2, "kept\0dropped"));
    expect(await connection.reply()).toMatchObject({ id: 2, result: { content: [{ text: "kept" }] } });
    sendBytes(connection, echoCall(3, "kept").replace("self.echo", "self.echo\0dropped"));
    expect(await connection.reply()).toMatchObject({ id: 3, result: { content: [{ text: "kept" }] } });
    // The rest of the string is still parsed: a wrong escape there makes the document invalid.
    sendBytes(connection, echoCall(4, "kept\0\\q"));
    sendBytes(connection, echoCall(5, "kept\\\0dropped"));
    sendBytes(connection, "\0".repeat(3));
    await connection.quiet();
    expect(connection.texts.waiting).toEqual([]);
  });

  it("ends a message over MQTT", async () => {
    await overMqtt(echoTool, async (device, connection) => {
      const send = (text: string): void => connection.send(Buffer.from(text, "latin1"));
      for (const text of [between, echoCall(2, "cut\0off")]) {
        const ignored = device.waitFor("frame-ignored");
        send(text);
        expect(await ignored).toMatchObject({ why: "Failed to parse json message" });
      }
      send(`${echoCall(3, "whole")}\0{`);
      expect(await connection.json()).toMatchObject({ payload: { id: 3 } });
      expect(connection.texts.waiting).toEqual([]);
    });
  });
});

describe("bytes that are not UTF-8", () => {
  // A lone continuation byte, a truncated sequence, an overlong one, a surrogate, a code point beyond the last.
  const odd = "\xe4\xbd\xa0 \x80 \xe4\xbd \xc0\xaf \xed\xa0\x80 \xf5\x80\x80\x80 \xff\xfe end";

  it("are returned unchanged over WebSocket, in results and errors", async () => {
    const connection = await withTools("echo.yaml", `${echoTool}- { name: 你, returns: { error: 错 } }\n`);
    connection.encoding = "latin1";
    const answers = async (text: string): Promise<string> => {
      sendBytes(connection, text);
      return await connection.texts.take();
    };
    const envelope = (id: number, rest: string): string =>
      `{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":${id},${rest}}}`;
    expect(await answers(echoCall(1, odd))).toBe(
      envelope(1, `"result":{"content":[{"type":"text","text":"${odd}"}],"isError":false}`),
    );
    expect(await answers(echoCall(2, "x").replace("self.echo", odd))).toBe(
      envelope(2, `"error":{"message":"Unknown tool: ${odd}"}`),
    );
    expect(await answers(echoCall(3, "x").replace("tools/call", odd))).toBe(
      envelope(3, `"error":{"message":"Method not implemented: ${odd}"}`),
    );
    const preview = echoCall(4, "x").replace("self.echo", "self.screen.preview_image");
    expect(await answers(preview.replace('"text":"x"', `"url":"nowhere ${odd}"`))).toBe(
      envelope(4, `"error":{"message":"Failed to open URL: nowhere ${odd}"}`),
    );
    expect(await answers(echoCall(5, "x").replace("self.echo", "\xe4\xbd\xa0"))).toBe(
      envelope(5, '"error":{"message":"\xe9\x94\x99"}'),
    );
    // Not the tool with that name, because the bytes differ.
    expect(await answers(echoCall(6, "x").replace("self.echo", "\xe4\xbd"))).toBe(
      envelope(6, '"error":{"message":"Unknown tool: \xe4\xbd"}'),
    );
  });

  it("are returned unchanged over MQTT", async () => {
    await overMqtt(echoTool, async (_device, connection) => {
      connection.encoding = "latin1";
      connection.send(Buffer.from(echoCall(1, odd), "latin1"));
      expect(await connection.texts.take()).toContain(`"text":"${odd}"`);
    });
  });

  it("reach a tool as text that converts back to the same bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string({ unit: "grapheme" }), (bytes, text) => {
        const received = fromBuffer(Buffer.from(bytes));
        expect(fromText(toText(received))).toBe(received);
        if (isUtf8(bytes)) expect(toText(received)).toBe(Buffer.from(bytes).toString("utf8"));
        expect(toText(fromText(text))).toBe(text);
      }),
    );
  });
});

describe("numeric names", () => {
  const yaml = `
- name: self.digits
  properties:
    10: { type: integer }
    b: { type: integer, default: 1 }
    "2": { type: integer }
    __proto__: { type: boolean, default: true }
    0x1: { type: string }
  returns: { echo: true }
- { name: self.fixed, returns: { value: { 9: [{ z: 1, 1: 2 }], 1: {} } } }
- { name: self.list, returns: [{ b: 1, 0: 2 }] }
`;
  const files: [string, string][] = [
    ["yaml", yaml],
    [
      "json",
      `[
\t{"name":"self.digits","properties":{"10":{"type":"integer"},"b":{"type":"integer","default":1},
\t  "2":{"type":"integer"},"__proto__":{"type":"boolean","default":true},"0x1":{"type":"string"}},
\t  "returns":{"echo":true}},
\t{"name":"self.fixed","returns":{"value":{"9":[{"z":1,"1":2}],"1":{}}}},
\t{"name":"self.list","returns":[{"b":1,"0":2}]}
]`,
    ],
  ];

  it.each(files)("keep the order in which a %s file declares them", async (kind, text) => {
    const connection = await withTools(`digits.${kind}`, text);
    connection.mcp({ id: 1, method: "tools/list", params: { cursor: "self.digits" } });
    expect(await connection.texts.take()).toContain(
      '"properties":{"10":{"type":"integer"},"b":{"type":"integer","default":1},"2":{"type":"integer"},' +
        '"__proto__":{"type":"boolean","default":true},"0x1":{"type":"string"}},"required":["10","2","0x1"]}',
    );
    expect(await textOf(connection, "self.digits")).toBe("error: Missing valid argument: 10");
    expect(await textOf(connection, "self.digits", { 10: 1 })).toBe("error: Missing valid argument: 2");
    expect(await textOf(connection, "self.digits", { 2: 2, 10: 1, "0x1": "x" })).toBe(
      '{"10":1,"b":1,"2":2,"__proto__":true,"0x1":"x"}',
    );
    expect(await textOf(connection, "self.fixed")).toBe('{"9":[{"z":1,"1":2}],"1":{}}');
    expect(await textOf(connection, "self.list")).toBe('[{"b":1,"0":2}]');
  });

  it("keep the order of a Map in tools added by code", async () => {
    const device = site.make();
    const properties = new Map([
      ["7", { type: "integer" }],
      ["3", { type: "string", default: "three" }],
    ] as const);
    device.addTool(
      "self.digits",
      "",
      properties,
      (args) =>
        new Map([
          ["7", args["7"] ?? 0],
          ["3", args["3"] ?? ""],
        ]),
    );
    const connection = await site.welcomed(device);
    connection.mcp({ id: 1, method: "tools/list", params: { cursor: "self.digits" } });
    expect(await connection.texts.take()).toContain(
      '"properties":{"7":{"type":"integer"},"3":{"type":"string","default":"three"}},"required":["7"]',
    );
    expect(await textOf(connection, "self.digits", { 7: 5 })).toBe('{"7":5,"3":"three"}');
  });
});
