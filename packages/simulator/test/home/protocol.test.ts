import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { Conversation } from "../../src/home/conversation.ts";
import { jsonFault } from "../../src/home/json-fault.ts";
import { maxLineBytes, SimulatedHome } from "../../src/index.ts";
import { HomeClient, homeClient } from "./home-client.ts";

function fixture<Row>(name: string): Row[] {
  const text = readFileSync(new URL(`../fixtures/${name}.jsonl`, import.meta.url), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
}

describe("the specification", () => {
  it("has a session whose answers match byte for byte", async () => {
    const client = await homeClient();
    for (const { from, line } of fixture<{ from: string; line: string }>("home-session")) {
      if (from === "client") client.send(line);
      else expect(await client.next()).toBe(line);
    }
  });

  it("has a ready with six tools as the first line", async () => {
    const ready = await new HomeClient().next();
    expect(ready).toMatch(
      /^\{"type":"ready","version":"0\.1\.0","tools":\[\{"name":"get_presence","description":/,
    );
    const { tools } = JSON.parse(ready) as { tools: Record<string, unknown>[] };
    expect(tools.map(({ name }) => name)).toEqual([
      "get_presence",
      "get_alarm_status",
      "list_lights_on",
      "set_light_state",
      "set_alarm_state",
      "get_all_states",
    ]);
    expect(tools[0]).toEqual({
      name: "get_presence",
      description: "Obtiene el estado del detector de presencia",
      input_schema: { type: "object", properties: {}, required: [] },
      output_schema: {
        type: "object",
        properties: {
          present: { type: "boolean" },
          known_people: { type: "array", items: { type: "string" } },
        },
      },
    });
    for (const tool of tools)
      expect(Object.keys(tool)).toEqual(["name", "description", "input_schema", "output_schema"]);
  });

  it("has results for every tool", async () => {
    const client = await homeClient();
    expect(await client.call("set_light_state", { name: "garage", on: true })).toEqual({ ok: true });
    expect(await client.call("set_light_state", { name: "salon", on: true })).toEqual({ ok: true });
    expect(await client.call("list_lights_on")).toEqual({ on: ["salon", "garage"] });
    expect(await client.call("set_alarm_state", { armed: true })).toEqual({ ok: true });
    expect(await client.call("get_alarm_status")).toEqual({ armed: true });
    expect(await client.call("get_presence")).toEqual({ present: false, known_people: [] });
    expect(await client.call("set_light_state", { name: "salon", on: false })).toEqual({ ok: true });
    expect(await client.call("list_lights_on")).toEqual({ on: ["garage"] });
  });

  test.each(fixture<{ text: string; fault: string }>("home-json-faults"))(
    "names what is wrong with $text",
    ({ text, fault }) => {
      expect(jsonFault(text)).toBe(fault);
    },
  );
});

const error = (id: string, text: string) =>
  `{"type":"error","id":${id},"ok":false,"error":${JSON.stringify(text)}}`;
const result = (id: string, json: string) => `{"type":"result","id":${id},"ok":true,"result":${json}}`;
const noId = "Mensaje inválido: falta 'id' o 'tool'";
const noObject = "Mensaje inválido: se esperaba un objeto JSON";
const light = (args: string) => `{"type":"call","id":1,"tool":"set_light_state","args":${args}}`;
const alarmOff = '{"armed":false}';
const ask = (id: string) => `{"type":"call","id":${id},"tool":"get_alarm_status","args":{}}`;

describe("mistakes of other implementations", () => {
  test.each([
    ["id 0", ask("0"), result("0", alarmOff)],
    ["a negative id", ask("-7"), result("-7", alarmOff)],
    ["a fraction as id", ask("1.5"), result("1.5", alarmOff)],
    ["text as id", ask('"a-1"'), result('"a-1"', alarmOff)],
    ["text with quotes as id", ask('"ñ\\"\\u0001"'), result('"ñ\\"\\u0001"', alarmOff)],
    ["empty text as id", ask('""'), result('""', alarmOff)],
    ["an id of 64 bits", ask("18446744073709551615"), result("18446744073709551615", alarmOff)],
    ["an id beyond every number", ask("1e400"), result("1e400", alarmOff)],
    [
      "a large id behind look-alikes",
      '{"type":"call","args":{"id":1.25},"tool":"get_alarm_status","x":"id: 3.5, {","\\u0069d":9007199254740993}',
      result("9007199254740993", alarmOff),
    ],
    ["null as id", ask("null"), error("null", noId)],
    ["no id", '{"type":"call","tool":"get_alarm_status"}', error("null", noId)],
    ["no tool", '{"type":"call","id":5}', error("5", noId)],
    ["an empty tool", '{"type":"call","id":5,"tool":""}', error("5", noId)],
    ["true as id", ask("true"), error("null", "Mensaje inválido: 'id' debe ser un número o un texto")],
    [
      "an object as id",
      ask('{"a":1}'),
      error("null", "Mensaje inválido: 'id' debe ser un número o un texto"),
    ],
    [
      "a number as tool",
      '{"type":"call","id":5,"tool":7}',
      error("5", "Mensaje inválido: 'tool' debe ser un texto"),
    ],
    ["args missing", '{"type":"call","id":1,"tool":"get_alarm_status"}', result("1", alarmOff)],
    ["args null", '{"type":"call","id":1,"tool":"get_alarm_status","args":null}', result("1", alarmOff)],
    ["args null where some are needed", light("null"), error("1", "Faltan parámetros requeridos: name, on")],
    ["args a list", light("[]"), error("1", "Mensaje inválido: 'args' debe ser un objeto")],
    ["args a text", light('"salon"'), error("1", "Mensaje inválido: 'args' debe ser un objeto")],
    ["no `on`", light('{"name":"salon"}'), error("1", "Faltan parámetros requeridos: name, on")],
    ["no name", light('{"on":true}'), error("1", "Faltan parámetros requeridos: name, on")],
    ["on null", light('{"name":"salon","on":null}'), error("1", "Faltan parámetros requeridos: name, on")],
    [
      'on "false"',
      light('{"name":"salon","on":"false"}'),
      error("1", "Parámetro inválido: 'on' debe ser true o false, se recibió \"false\""),
    ],
    [
      "on 1",
      light('{"name":"salon","on":1}'),
      error("1", "Parámetro inválido: 'on' debe ser true o false, se recibió 1"),
    ],
    [
      "a name that is a number",
      light('{"name":5,"on":true}'),
      error("1", "Parámetro inválido: 'name' debe ser un texto, se recibió 5"),
    ],
    [
      "a light named like a part of objects",
      light('{"name":"__proto__","on":true}'),
      error("1", "Luz '__proto__' no encontrada"),
    ],
    [
      "a light named with quotes",
      light('{"name":"a\'\\"","on":true}'),
      error("1", "Luz 'a'\"' no encontrada"),
    ],
    [
      "a tool named like a part of objects",
      '{"type":"call","id":1,"tool":"constructor"}',
      error("1", "Tool 'constructor' no encontrada"),
    ],
    [
      "no `armed`",
      '{"type":"call","id":1,"tool":"set_alarm_state","args":{}}',
      error("1", "Falta parámetro requerido: armed"),
    ],
    ["a list", "[1,2]", error("null", noObject)],
    ["a number", "42", error("null", noObject)],
    ["text", '"hola"', error("null", noObject)],
    ["null", "null", error("null", noObject)],
    ["an unknown type", '{"type":"hello","id":9}', error("9", "Tipo de mensaje desconocido: hello")],
    [
      "an unknown type without an id",
      '{"type":"hello"}',
      error("null", "Tipo de mensaje desconocido: hello"),
    ],
    ["no type", '{"id":9}', error("9", "Tipo de mensaje desconocido: null")],
    ["a number as type", '{"type":7}', error("null", "Tipo de mensaje desconocido: 7")],
  ])("%s", async (_, line, answer) => {
    const client = await homeClient();
    expect(await client.ask(line)).toBe(answer);
    // In every case no light went on, and the next call is answered.
    expect(await client.call("list_lights_on")).toEqual({ on: [] });
  });

  it("sends text unescaped, and truncates a long name", async () => {
    const client = await homeClient();
    expect(await client.ask(light('{"name":"baño 😀","on":true}'))).toBe(
      error("1", "Luz 'baño 😀' no encontrada"),
    );
    const long = await client.ask(light(`{"name":"${"x".repeat(100_000)}","on":true}`));
    expect(long).toBe(error("1", `Luz '${"x".repeat(200)}…' no encontrada`));
    const odd = await client.ask(light(`{"name":"salon","on":"${"y".repeat(100_000)}"}`));
    expect(odd.length).toBeLessThan(300);
  });

  it("skips empty lines, and accepts a carriage return before the newline", async () => {
    const client = await homeClient();
    client.input.write(`\n  \n\r\n\t\n${ask("1")}\r\n`);
    expect(await client.next()).toBe(result("1", alarmOff));
  });

  it("rejects bytes that are not UTF-8, but accepts the replacement character", async () => {
    const client = await homeClient();
    client.input.write(Buffer.from([0x22, 0xc3, 0x28, 0x22, 0x0a]));
    expect(await client.next()).toBe(error("null", "Error al parsear JSON: la línea no es UTF-8 válido"));
    expect(await client.ask(light('{"name":"\ufffd","on":true}'))).toBe(
      error("1", "Luz '\ufffd' no encontrada"),
    );
  });

  it("joins characters that were split between chunks", async () => {
    const client = await homeClient();
    for (const byte of Buffer.from(`${light('{"name":"ñ😀","on":true}')}\n`))
      client.input.write(Buffer.of(byte));
    expect(await client.next()).toBe(error("1", "Luz 'ñ😀' no encontrada"));
  });

  it("answers an endless line with one error, and continues with the next line", async () => {
    const client = await homeClient();
    client.input.write("x".repeat(maxLineBytes));
    client.input.write("x");
    expect(await client.next()).toBe(
      error("null", `Mensaje inválido: la línea supera ${maxLineBytes} bytes`),
    );
    for (let part = 0; part < 20; part += 1) client.input.write("x".repeat(maxLineBytes));
    client.input.write(`\n${ask("2")}\n`);
    expect(await client.next()).toBe(result("2", alarmOff));
  });

  it("accepts a line as long as the bound", async () => {
    const client = await homeClient();
    const line = ask("3");
    expect(await client.ask(line + " ".repeat(maxLineBytes - line.length))).toBe(result("3", alarmOff));
  });

  it("handles extremely deep nesting", async () => {
    const client = await homeClient();
    expect(await client.ask("[".repeat(500_000))).toContain("Error al parsear JSON: Expecting value");
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    expect(await client.ask(`{"type":"call","id":1,"tool":"get_alarm_status","args":{"x":${deep}}}`)).toBe(
      result("1", alarmOff),
    );
    expect(await client.ask(light(`{"name":"salon","on":${deep}}`))).toContain("se recibió una lista");
    expect(await client.ask(`{"type":${deep},"id":1}`)).toBe(
      error("1", "Tipo de mensaje desconocido: una lista"),
    );
    expect(await client.ask(`{"type":"call","id":${deep},"tool":"x"}`)).toContain("'id' debe ser");
    expect(await client.ask(`{"type":"call","id":1.5,"tool":"x","y":"${"z\\n".repeat(300_000)}"}`)).toContain(
      '"id":1.5',
    );
  });

  it("answers ten thousand calls sent at once, in order", async () => {
    const client = await homeClient();
    client.send(...Array.from({ length: 10_000 }, (_, id) => ask(String(id))));
    for (let id = 0; id < 10_000; id += 1) expect(await client.next()).toBe(result(String(id), alarmOff));
  });
});

describe("any line", () => {
  it("is answered with one line, or none", () => {
    const home = new SimulatedHome();
    const conversation = new Conversation(home, () => undefined);
    const tool = fc.constantFrom(...home.tools.map(({ name }) => name), "x");
    const message = fc.record(
      {
        type: fc.oneof(fc.constant("call"), fc.jsonValue()),
        id: fc.jsonValue(),
        tool: fc.oneof(tool, fc.jsonValue()),
        args: fc.oneof(
          fc.record({ name: fc.jsonValue(), on: fc.jsonValue(), armed: fc.jsonValue() }),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: [] },
    );
    const text = message.map((value) => JSON.stringify(value));
    const cut = fc.tuple(text, fc.nat(80)).map(([line, at]) => line.slice(0, at));
    fc.assert(
      fc.property(fc.oneof(text, cut, fc.string(), fc.json()), (line) => {
        const answer = conversation.answer(line);
        if (answer === undefined || answer === "") return;
        expect(answer.indexOf("\n")).toBe(answer.length - 1);
        const { type, ok } = JSON.parse(answer) as { type: string; ok: boolean };
        expect(type).toBe(ok ? "result" : "error");
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("the server ends", () => {
  it("on quit, after it has answered the earlier calls", async () => {
    const client = await homeClient();
    client.send(ask("1"), '{"type":"quit"}', ask("2"), "rubbish");
    expect(await client.next()).toBe(result("1", alarmOff));
    expect(await client.server.ended).toBe("quit");
    expect(client.output.read()).toBeNull();
  });

  it("at the end of the input, after a last line without a newline", async () => {
    const client = await homeClient();
    client.input.end(ask("1"));
    expect(await client.next()).toBe(result("1", alarmOff));
    expect(await client.server.ended).toBe("input-ended");
  });

  it("when the client has disconnected", async () => {
    const client = await homeClient();
    client.output.destroy();
    expect(await client.server.ended).toBe("output-gone");
    expect(client.input.destroyed).toBe(true);
  });

  it("on stop()", async () => {
    const client = await homeClient();
    client.server.stop();
    client.server.stop();
    expect(await client.server.ended).toBe("stopped");
  });
});

describe("a client that does not read", () => {
  it("is not read from until it reads again", async () => {
    const client = await homeClient();
    client.output.pause();
    const rounds = 200;
    const lines = `${Array.from({ length: 100 }, (_, id) => ask(String(id))).join("\n")}\n`;
    for (let round = 0; round < rounds; round += 1) client.input.write(lines);
    await new Promise((resolve) => setImmediate(resolve));
    expect(client.output.writableNeedDrain).toBe(true);
    expect(client.input.isPaused()).toBe(true);
    client.output.resume();
    for (let count = 0; count < rounds * 100; count += 1) expect(await client.next()).toContain('"ok":true');
  });
});

describe("a home as a library", () => {
  it("needs no streams and no file", () => {
    const home = new SimulatedHome();
    expect(home.call("set_light_state", { name: "bano", on: true })).toEqual({ ok: true });
    expect(home.call("list_lights_on")).toEqual({ on: ["bano"] });
    expect(() => home.call("set_light_state", { name: "x", on: true })).toThrow(
      expect.objectContaining({ code: "light_unknown", details: expect.objectContaining({ name: "x" }) }),
    );
    home.close();
  });
});
