/** "Especificación del Protocolo MCP Simplificado": a simulated home, run as `tendon home --mcp` over its pipes. */
import fs from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HomeProcess } from "../../packages/cli/test/home-process.ts";
import { temporaryFolder } from "../../packages/cli/test/run-tendon.ts";
import { Example } from "./example.ts";

interface Ready {
  readonly type: string;
  readonly version: string;
  readonly tools: readonly { readonly name: string; readonly input_schema: object }[];
}

const folder = temporaryFolder();
/** The home of the document's session: nobody is there, everything is off. */
let home: HomeProcess;
/** The home of the document's outputs: two people are there. */
let lived: HomeProcess;
let ready: Ready;

/** A home in a folder of its own, with these files in its data folder. */
function start(name: string, files: Readonly<Record<string, string>> = {}): HomeProcess {
  const cwd = path.join(folder.path, name);
  fs.mkdirSync(path.join(cwd, "data"), { recursive: true });
  for (const [file, text] of Object.entries(files)) fs.writeFileSync(path.join(cwd, "data", file), text);
  return new HomeProcess({ cwd });
}

beforeAll(async () => {
  home = start("session");
  lived = start("lived", {
    "home.yaml": "presence_default: { present: true, known_people: [Carlos, Ana] }\n",
  });
  ready = JSON.parse(await home.next()) as Ready;
  await lived.next();
});

afterAll(async () => {
  await Promise.all([home.quit(), lived.quit()]);
  folder.remove();
});

/** Sends one line as it is and returns the next. */
async function answerTo(line: string, to = home): Promise<string> {
  to.write(`${line}\n`);
  return await to.next();
}

async function messageTo(line: string, to = home): Promise<unknown> {
  return JSON.parse(await answerTo(line, to));
}

describe("Visión General", () => {
  it("messages are JSON in UTF-8, one per line, on stdin and stdout", async () => {
    const name = "jardín 🌙";
    const line = await answerTo(
      JSON.stringify({ type: "call", id: "ñ", tool: "set_light_state", args: { name, on: true } }),
    );
    expect(line).toBe(`{"type":"error","id":"ñ","ok":false,"error":"Luz '${name}' no encontrada"}`);
  });
});

describe("Flujo de Comunicación", () => {
  it("the server sends the first message; each call gets a result or an error, in order", async () => {
    expect(home.stdout.startsWith('{"type":"ready"')).toBe(true);
    home.call(1, "get_alarm_status");
    home.call(2, "tool_inexistente");
    expect(JSON.parse(await home.next())).toMatchObject({ type: "result", id: 1 });
    expect(JSON.parse(await home.next())).toMatchObject({ type: "error", id: 2 });
  });
});

describe("Tipos de Mensajes: ready", () => {
  const example = new Example(`{
    "type": "ready",
    "version": "0.1.0",
    "tools": [
      {
        "name": "get_presence",
        "description": "Obtiene el estado del detector de presencia",
        "input_schema": { "type": "object", "properties": {}, "required": [] },
        "output_schema": {
          "type": "object",
          "properties": {
            "present": {"type": "boolean"},
            "known_people": {"type": "array", "items": {"type": "string"}}
          }
        }
      },
      ...
    ]
  }`);

  it("announces the tools as in the example", () => {
    expect(ready).toEqual(example.matcher);
    expect(ready.tools.map(({ name }) => name).join(" ")).toBe(
      "get_presence get_alarm_status list_lights_on set_light_state set_alarm_state get_all_states",
    );
  });
});

describe("Tipos de Mensajes: call", () => {
  const example =
    '{"type": "call", "id": 1, "tool": "set_light_state", "args": {"name": "salon", "on": true}}';

  it("runs a tool with its arguments", async () => {
    expect(await messageTo(example)).toMatchObject({ type: "result", id: 1 });
    expect(await home.ask("list_lights_on")).toEqual({ on: ["salon"] });
    await home.ask("set_light_state", { name: "salon", on: false });
  });

  it.each([7, 0, "siete"])("the id is a number or a string: %j", async (id) => {
    const line = JSON.stringify({ type: "call", id, tool: "get_presence", args: {} });
    expect(await messageTo(line)).toMatchObject({ id });
  });
});

describe("Tipos de Mensajes: result", () => {
  const example = '{"type": "result", "id": 1, "ok": true, "result": {"ok": true}}';

  it("has the id of the call and the data of the tool", async () => {
    const call = '{"type": "call", "id": 1, "tool": "set_alarm_state", "args": {"armed": false}}';
    expect(await messageTo(call)).toEqual(JSON.parse(example));
  });
});

describe("Tipos de Mensajes: error", () => {
  const example = `{"type": "error", "id": 1, "ok": false, "error": "Luz 'inexistente' no encontrada"}`;

  it("has the id of the call and a description", async () => {
    const call =
      '{"type": "call", "id": 1, "tool": "set_light_state", "args": {"name": "inexistente", "on": true}}';
    expect(await messageTo(call)).toEqual(JSON.parse(example));
  });

  it("has the id null if the line is not JSON", async () => {
    expect(await messageTo("{")).toMatchObject({ type: "error", id: null, ok: false });
  });
});

describe("Tipos de Mensajes: quit", () => {
  it("ends the server", async () => {
    const other = start("quit");
    await other.next();
    other.write('{"type": "quit"}\n');
    expect(await other.ended()).toEqual({ code: 0, signal: null });
  });

  it("is optional: the end of the input ends the server too", async () => {
    const other = start("end-of-input");
    other.child.stdin?.end();
    expect(await other.ended()).toEqual({ code: 0, signal: null });
  });
});

describe("Tools Disponibles: get_presence", () => {
  it("tells who is at home", async () => {
    const output = { present: true, known_people: ["Carlos", "Ana"] };
    expect(await lived.ask("get_presence", {})).toEqual(output);
  });
});

describe("Tools Disponibles: get_alarm_status", () => {
  it("tells whether the alarm is armed", async () => {
    await lived.ask("set_alarm_state", { armed: true });
    expect(await lived.ask("get_alarm_status", {})).toEqual({ armed: true });
  });
});

describe("Tools Disponibles: list_lights_on", () => {
  it("lists the lights that are on", async () => {
    for (const name of ["salon", "cocina"]) await lived.ask("set_light_state", { name, on: true });
    expect(await lived.ask("list_lights_on", {})).toEqual({ on: ["salon", "cocina"] });
  });
});

describe("Tools Disponibles: set_light_state", () => {
  it("switches one light on or off", async () => {
    for (const on of [true, false, true]) {
      expect(await lived.ask("set_light_state", { name: "salon", on })).toEqual({ ok: true });
      const { lights } = (await lived.ask("get_all_states")) as { lights: Record<string, boolean> };
      expect(lights["salon"]).toBe(on);
    }
  });

  it("fails with `ok` false and the text of the example, in an `error` message", async () => {
    const output = { ok: false, error: "Luz 'inexistente' no encontrada" };
    const call =
      '{"type": "call", "id": 1, "tool": "set_light_state", "args": {"name": "inexistente", "on": true}}';
    expect(await messageTo(call, lived)).toMatchObject({ type: "error", ...output });
  });
});

describe("Tools Disponibles: set_alarm_state", () => {
  it("arms or disarms the alarm", async () => {
    for (const armed of [false, true]) {
      expect(await lived.ask("set_alarm_state", { armed })).toEqual({ ok: true });
      expect(await lived.ask("get_alarm_status")).toEqual({ armed });
    }
  });
});

describe("Tools Disponibles: get_all_states", () => {
  const output = `{
    "lights": { "salon": true, "cocina": false, "dormitorio": false, "bano": false, "garage": true },
    "alarm": true,
    "presence": { "present": true, "known_people": ["Carlos", "Ana"] }
  }`;

  it("shows the whole state", async () => {
    const { lights } = JSON.parse(output) as { lights: Record<string, boolean> };
    for (const [name, on] of Object.entries(lights)) await lived.ask("set_light_state", { name, on });
    await lived.ask("set_alarm_state", { armed: true });
    expect(await lived.ask("get_all_states", {})).toEqual(JSON.parse(output));
  });
});

describe("Manejo de Errores: Errores comunes", () => {
  it.each([
    [
      "Tool no encontrada",
      '{"type": "call", "id": 1, "tool": "tool_inexistente", "args": {}}',
      `{"type": "error", "id": 1, "ok": false, "error": "Tool 'tool_inexistente' no encontrada"}`,
    ],
    [
      "Luz no encontrada",
      '{"type": "call", "id": 2, "tool": "set_light_state", "args": {"name": "dormitorio2", "on": true}}',
      `{"type": "error", "id": 2, "ok": false, "error": "Luz 'dormitorio2' no encontrada"}`,
    ],
    [
      "Error de parsing JSON",
      "encender salon",
      '{"type": "error", "id": null, "ok": false, "error": "Error al parsear JSON: Expecting value: line 1 column 1 (char 0)"}',
    ],
    [
      "Parámetros faltantes",
      '{"type": "call", "id": 3, "tool": "set_light_state", "args": {}}',
      '{"type": "error", "id": 3, "ok": false, "error": "Faltan parámetros requeridos: name, on"}',
    ],
  ])("%s", async (_, line, answer) => {
    expect(await messageTo(line)).toEqual(JSON.parse(answer));
  });
});

describe("Ejemplo de Sesión Completa", () => {
  it("each answer is that of the document", async () => {
    const other = start("whole-session");
    expect(await other.next()).toMatch(/^\{"type":"ready","version":"0\.1\.0","tools":\[.*\]\}$/);
    expect(
      await answerTo(
        '{"type":"call","id":1,"tool":"set_light_state","args":{"name":"salon","on":true}}',
        other,
      ),
    ).toBe('{"type":"result","id":1,"ok":true,"result":{"ok":true}}');
    const states = new Example(
      `{"type":"result","id":2,"ok":true,"result":{"lights":{"salon":true,"cocina":false,...},"alarm":false,"presence":{"present":false,"known_people":[]}}}`,
    );
    expect(await messageTo('{"type":"call","id":2,"tool":"get_all_states","args":{}}', other)).toEqual(
      states.matcher,
    );
    expect(
      await answerTo(
        '{"type":"call","id":3,"tool":"set_light_state","args":{"name":"inexistente","on":true}}',
        other,
      ),
    ).toBe(`{"type":"error","id":3,"ok":false,"error":"Luz 'inexistente' no encontrada"}`);
    await other.quit();
  });
});

describe("Notas de Implementación: Para Clientes", () => {
  it("a message ends with a line feed, whether it is sent in one part, in several or with another one", async () => {
    home.write('{"type":"call","id":1,"tool":');
    home.write('"get_alarm_status"}\n{"type":"call","id":2,"tool":"get_alarm_status"}\n');
    expect(JSON.parse(await home.next())).toMatchObject({ id: 1, ok: true });
    expect(JSON.parse(await home.next())).toMatchObject({ id: 2, ok: true });
  });

  it("a call needs an id", async () => {
    expect(await messageTo('{"type":"call","tool":"get_alarm_status","args":{}}')).toMatchObject({
      type: "error",
      ok: false,
      error: "Mensaje inválido: falta 'id' o 'tool'",
    });
  });
});

describe("Notas de Implementación: Para Servidores", () => {
  it.each([
    ["[]", null],
    ["7", null],
    ['{"type":"otro","id":4}', 4],
    ['{"type":"call","id":4,"tool":"set_alarm_state","args":{"armed":"false"}}', 4],
    ['{"type":"call","id":4,"tool":"set_alarm_state","args":7}', 4],
  ])("every failure is an `error` with the original id, and the server continues: %s", async (line, id) => {
    expect(await messageTo(line)).toEqual({ type: "error", id, ok: false, error: expect.any(String) });
    expect(await home.ask("get_alarm_status")).toEqual({ armed: false });
  });
});

describe("Diferencias con MCP Oficial", () => {
  it("a JSON-RPC 2.0 message is not one of this protocol", async () => {
    const rpc = '{"jsonrpc":"2.0","id":5,"method":"tools/list"}';
    expect(await messageTo(rpc)).toMatchObject({ type: "error", ok: false });
  });

  it("there are no notifications: a change causes only the answer to its call", async () => {
    const lines = home.stdout.split("\n").length;
    await home.ask("set_light_state", { name: "bano", on: true });
    await home.ask("set_light_state", { name: "bano", on: false });
    expect(home.stdout.split("\n")).toHaveLength(lines + 2);
  });

  it("there is no negotiation and no acknowledgement: the first line can be a call, and only its result follows", async () => {
    const other = start("first-line");
    other.call(1, "get_alarm_status");
    other.send({ type: "quit" });
    expect(await other.ended()).toEqual({ code: 0, signal: null });
    const types = other.stdout.trimEnd().split("\n");
    expect(types.map((line) => (JSON.parse(line) as Ready).type)).toEqual(["ready", "result"]);
  });

  it("schemas are simple: an object with its properties and the required ones", () => {
    for (const { input_schema } of ready.tools) {
      expect(Object.keys(input_schema)).toEqual(["type", "properties", "required"]);
    }
  });
});

describe("Extensibilidad: tools.py, state.py, este documento", () => {
  it("a file adds a tool, its state and its description", async () => {
    const other = start("own-tools", {
      "home.yaml": "tools: gate.yaml\n",
      "gate.yaml": `state: { gate: closed }
tools:
  - { name: set_gate, description: Mueve la puerta, properties: { position: { type: string } }, returns: { set: gate } }
`,
    });
    const { tools } = JSON.parse(await other.next()) as Ready;
    expect(tools.slice(0, -1).map(({ name }) => name)).toEqual(ready.tools.map(({ name }) => name));
    expect(tools.at(-1)).toMatchObject({ name: "set_gate", description: "Mueve la puerta" });
    expect(await other.ask("set_gate", { position: "open" })).toEqual({ ok: true });
    expect(await other.ask("get_all_states")).toMatchObject({ gate: "open" });
    await other.quit();
  });
});
