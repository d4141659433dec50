import { type ByteText, fromText, toText } from "./byte-text.ts";
import type { CjsonNode } from "./cjson-parse.ts";
import { toInt32 } from "./cjson-parse.ts";
import type { MqttSettings } from "./mqtt-settings.ts";

export type FlashSpace = "mqtt" | "websocket";

/** The flash's bounds. The firmware does not check them before writing, and crashes with the error. */
const keyLimit = 15;
const textLimit = 4000;

/** Settings that survive reboots. A setting that is missing in a reply keeps its old value. */
export class Flash {
  readonly #spaces: Readonly<Record<FlashSpace, Map<string, ByteText | number>>> = {
    mqtt: new Map(),
    websocket: new Map(),
  };

  /** Stores every text and number of an object; returns the reason if this crashes the device. */
  store(space: FlashSpace, node: CjsonNode): string | undefined {
    if (node.kind !== "object") return undefined;
    for (const { key, value } of node.members) {
      if (value.kind !== "string" && value.kind !== "number") continue;
      if (key.length > keyLimit) return `the setting ${space}.${toText(key)} has too long a name for flash`;
      if (value.kind === "string" && value.value.length >= textLimit) {
        return `the setting ${space}.${toText(key)} is too long for flash`;
      }
      this.#spaces[space].set(key, value.kind === "string" ? value.value : toInt32(value.value));
    }
    return undefined;
  }

  mqtt(): MqttSettings {
    const keepalive = this.#number("mqtt", "keepalive");
    return {
      endpoint: this.#text("mqtt", "endpoint"),
      client_id: this.#text("mqtt", "client_id"),
      username: this.#text("mqtt", "username"),
      password: this.#text("mqtt", "password"),
      ...(keepalive === undefined ? {} : { keepalive }),
      publish_topic: this.#text("mqtt", "publish_topic"),
    };
  }

  webSocket(): { readonly url: string; readonly token: string; readonly version: 1 | 2 | 3 } {
    const version = this.#number("websocket", "version");
    return {
      url: this.#text("websocket", "url"),
      token: this.#text("websocket", "token"),
      version: version === 2 || version === 3 ? version : 1,
    };
  }

  /** Does not find a number with that name, because flash stores the two types separately. */
  #text(space: FlashSpace, key: string): string {
    const value = this.#spaces[space].get(key);
    return toText(typeof value === "string" ? value : fromText(""));
  }

  #number(space: FlashSpace, key: string): number | undefined {
    const value = this.#spaces[space].get(key);
    return typeof value === "number" ? value : undefined;
  }
}
