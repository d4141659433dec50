import { type ByteText, fromText, toText, wire } from "./byte-text.ts";
import { type CjsonNode, stringMember } from "./cjson-parse.ts";
import type { DeviceEvents, Phase } from "./device-events.ts";

export type ListenMode = "auto" | "manual" | "realtime";

export interface ConversationHost {
  readonly events: DeviceEvents;
  readonly defaultMode: ListenMode;
  sessionId(): ByteText;
  /** Queues a text after the tasks of the main loop. */
  say(text: ByteText): void;
  emotion(name: string): void;
  scheduleReboot(cause: string): void;
}

/** Listening and speaking: the part of the protocol without tools. No audio is recorded or played. */
export class Conversation {
  readonly #host: ConversationHost;
  #phase: Phase = "idle";
  #mode: ListenMode = "auto";

  constructor(host: ConversationHost) {
    this.#host = host;
  }

  get phase(): Phase {
    return this.#phase;
  }

  enter(phase: Phase): void {
    if (this.#phase === phase) return;
    const previous = this.#phase;
    this.#phase = phase;
    this.#host.events.emit({ kind: "phase", phase, previous });
  }

  /** The message that the device is listening; also changes the phase. */
  beginListening(mode: ListenMode = this.#host.defaultMode): ByteText {
    this.#mode = mode;
    this.enter("listening");
    return wire`{"session_id":"${this.#host.sessionId()}","type":"listen","state":"start","mode":"${fromText(mode)}"}`;
  }

  endListening(): ByteText {
    this.enter("idle");
    return wire`{"session_id":"${this.#host.sessionId()}","type":"listen","state":"stop"}`;
  }

  /** The wake word is inserted unescaped, like everything that the firmware builds by hand. */
  detected(wakeWord: string): ByteText {
    const text = fromText(wakeWord);
    return wire`{"session_id":"${this.#host.sessionId()}","type":"listen","state":"detect","text":"${text}"}`;
  }

  aborted(byWakeWord: boolean): ByteText {
    const reason = byWakeWord ? wire`,"reason":"wake_word_detected"` : wire``;
    return wire`{"session_id":"${this.#host.sessionId()}","type":"abort"${reason}}`;
  }

  /** Handles messages other than hello and mcp. Returns the reason if the device ignores one. */
  receive(type: ByteText, message: CjsonNode): string | undefined {
    switch (type as string) {
      case "tts":
        this.#speech(stringMember(message, "state"));
        break;
      case "llm": {
        const emotion = stringMember(message, "emotion");
        if (emotion !== undefined) this.#host.emotion(toText(emotion));
        break;
      }
      case "system":
        if (stringMember(message, "command") === "reboot") this.#host.scheduleReboot("system command");
        break;
      case "alert":
        if (["status", "message", "emotion"].some((key) => stringMember(message, key) === undefined)) {
          return "Alert command requires status, message and emotion";
        }
        break;
      case "stt":
        break;
      default:
        return `Unknown message type: ${toText(type)}`;
    }
    this.#host.events.emit({ kind: "message", type: toText(type), fields: textFields(message) });
    return undefined;
  }

  #speech(state: ByteText | undefined): void {
    if (state === "start" && this.#phase !== "connecting") this.enter("speaking");
    if (state !== "stop" || this.#phase !== "speaking") return;
    if (this.#mode === "manual") this.enter("idle");
    else this.#host.say(this.beginListening(this.#mode));
  }
}

function textFields(message: CjsonNode): Record<string, string> {
  const fields: Record<string, string> = {};
  if (message.kind !== "object") return fields;
  for (const { key, value } of message.members) {
    if (value.kind === "string") fields[toText(key)] ??= toText(value.value);
  }
  return fields;
}
