/** The line protocol with one client: one line in, at most one line out, without streams. */
import type { HomeEvent } from "./changes.ts";
import { HomeCallError, HomeStateError, type HomeStateErrorCode } from "./home-errors.ts";
import { jsonFault } from "./json-fault.ts";
import { shown } from "./parameters.ts";
import type { SimulatedHome } from "./simulated-home.ts";
import { brief } from "./tools.ts";

/** The protocol's version, not the program's. */
const protocolVersion = "0.1.0";

/** Maximum bytes of a line; a call of the largest home has a few kilobytes. */
export const maxLineBytes = 1024 * 1024;

const stateTexts: Readonly<Record<HomeStateErrorCode, string>> = {
  state_unreadable: "No se puede leer el estado de la casa",
  state_unwritable: "No se puede guardar el estado de la casa",
  state_newer: "El estado de la casa es de una versión más nueva",
  state_locked: "El estado de la casa está ocupado por otro proceso",
};

export class Conversation {
  readonly #home: SimulatedHome;
  readonly #warn: (error: HomeStateError) => void;

  constructor(home: SimulatedHome, warn: (error: HomeStateError) => void) {
    this.#home = home;
    this.#warn = warn;
  }

  ready(): string {
    return `${JSON.stringify({ type: "ready", version: protocolVersion, tools: this.#home.tools })}\n`;
  }

  /** The answer with its newline; empty if there is none; `undefined` for quit. */
  answer(line: string): string | undefined {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return line.trim() === "" ? "" : refusal("null", `Error al parsear JSON: ${jsonFault(line)}`);
    }
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      return refusal("null", "Mensaje inválido: se esperaba un objeto JSON");
    }
    return this.#reply(message as Readonly<Record<string, unknown>>, line);
  }

  tooLong(): string {
    return refusal("null", `Mensaje inválido: la línea supera ${maxLineBytes} bytes`);
  }

  notText(): string {
    return refusal("null", "Error al parsear JSON: la línea no es UTF-8 válido");
  }

  #reply(message: Readonly<Record<string, unknown>>, line: string): string | undefined {
    const { type } = message;
    const id = idText(message["id"], line);
    if (type === "call") return this.#call(message, id);
    if (type === "quit") return undefined;
    const kind = typeof type === "string" ? brief(type) : shown(type ?? null);
    return refusal(id ?? "null", `Tipo de mensaje desconocido: ${kind}`);
  }

  #call(message: Readonly<Record<string, unknown>>, id: string | undefined): string {
    const tool = message["tool"] ?? "";
    const args = message["args"] ?? {};
    if ((message["id"] ?? undefined) === undefined || tool === "") {
      return refusal(id ?? "null", "Mensaje inválido: falta 'id' o 'tool'");
    }
    if (id === undefined) return refusal("null", "Mensaje inválido: 'id' debe ser un número o un texto");
    if (typeof tool !== "string") return refusal(id, "Mensaje inválido: 'tool' debe ser un texto");
    if (typeof args !== "object" || Array.isArray(args)) {
      return refusal(id, "Mensaje inválido: 'args' debe ser un objeto");
    }
    try {
      const result = this.#home.callInTurn(tool, args as Readonly<Record<string, unknown>>);
      return `{"type":"result","id":${id},"ok":true,"result":${JSON.stringify(result)}}\n`;
    } catch (error) {
      if (error instanceof HomeCallError) return refusal(id, error.message);
      if (!(error instanceof HomeStateError)) throw error;
      this.#warn(error);
      return refusal(id, stateTexts[error.code]);
    }
  }
}

/** Sent only to a client that requested events. */
export function eventLine({ event, data }: HomeEvent): string {
  return `${JSON.stringify({ type: "event", event, data })}\n`;
}

function refusal(id: string, text: string): string {
  return `{"type":"error","id":${id},"ok":false,"error":${JSON.stringify(text)}}\n`;
}

/**
 * A call's id goes back exactly as it came. A number that JavaScript cannot hold exactly (a 64-bit id, 1e400) is
 * taken from the line's own text. `undefined` for what is no id.
 */
function idText(id: unknown, line: string): string | undefined {
  if (typeof id === "string") return JSON.stringify(id);
  if (typeof id !== "number") return undefined;
  return Number.isSafeInteger(id) ? String(id) : numberAt("id", line);
}

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]|[^\s"[\]{}:,]+/g;

/** The last number under this key of the outermost object, as it is written. The line is known to be JSON. */
function numberAt(key: string, line: string): string | undefined {
  let depth = 0;
  let previous = "";
  let name = "";
  let found: string | undefined;
  for (const [text] of line.matchAll(token)) {
    if (text === "{" || text === "[") depth += 1;
    else if (text === "}" || text === "]") depth -= 1;
    else if (text === ":") name = depth === 1 ? (JSON.parse(previous) as string) : "";
    else if (text !== "," && previous === ":" && name === key) found = text;
    previous = text;
  }
  return found;
}
