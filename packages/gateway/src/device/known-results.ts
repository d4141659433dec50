/**
 * Boards with the same firmware send the same tool lists. The result of each is parsed once and shared: a frame that
 * ends in a known result is decoded without it.
 */
import { type Decoded, type DeviceMessage, decodeDeviceFrame, isObject, parseJson } from "@tendon/protocol";

/** As the firmware writes it. A device that writes its lists in another way is decoded as usual. */
const opening = '"result":{"tools":[';
const key = '"result":';
const ending = "}}";
/** Both bound what devices that change their lists for ever can fill. The oldest results are dropped. */
const maxResults = 256;
const maxCharacters = 4 * 1024 * 1024;

export class KnownResults {
  /** By the text from the result to the end of the frame. */
  readonly #results = new Map<string, object>();
  #characters = 0;

  decode(text: string): Decoded<DeviceMessage> {
    const at = text.indexOf(opening);
    if (at === -1 || !text.endsWith(ending)) return decodeDeviceFrame(text);
    const tail = text.slice(at + key.length);
    const known = this.#results.get(tail);
    if (known !== undefined) {
      const decoded = decodeDeviceFrame(`${text.slice(0, at)}${key}null${ending}`);
      if (decoded.outcome === "ok" && decoded.message.type === "mcp") {
        const { rpc } = decoded.message;
        if (rpc.kind === "result" && rpc.result === null)
          return { outcome: "ok", message: { type: "mcp", rpc: { ...rpc, result: known } } };
      }
    }
    const decoded = decodeDeviceFrame(text);
    return decoded.outcome === "ok" ? this.#remember(tail, decoded) : decoded;
  }

  /** The result is complete without the frame's ending, so it can stand in any other frame. */
  #remember(tail: string, decoded: Decoded<DeviceMessage> & { outcome: "ok" }): Decoded<DeviceMessage> {
    const { message } = decoded;
    if (message.type !== "mcp" || message.rpc.kind !== "result") return decoded;
    const result = parseJson(tail.slice(0, -ending.length));
    if (!isObject(result) || tail.length > maxCharacters) return decoded;
    this.#add(tail, deepFrozen(result));
    return { outcome: "ok", message: { type: "mcp", rpc: { ...message.rpc, result } } };
  }

  #add(tail: string, result: object): void {
    this.#results.set(tail, result);
    this.#characters += tail.length;
    for (const oldest of this.#results.keys()) {
      if (this.#results.size <= maxResults && this.#characters <= maxCharacters) return;
      this.#results.delete(oldest);
      this.#characters -= oldest.length;
    }
  }
}

/** Devices share it, so that none may change it. */
function deepFrozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const item of Object.values(value)) deepFrozen(item);
  return Object.freeze(value);
}
