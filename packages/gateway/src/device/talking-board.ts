import type { BoardSession } from "./board-session.ts";
import type { VoiceBoard } from "./voice/voice.ts";

/** A board's session as the voice relay sees it. */
export class TalkingBoard implements VoiceBoard {
  readonly deviceId: string;
  readonly clientId: string | undefined;
  readonly sessionId: string;
  readonly transport: string;
  readonly #session: BoardSession;
  readonly #mcp: boolean;

  constructor(session: BoardSession, mcp: boolean) {
    this.deviceId = session.deviceId;
    this.clientId = session.identity.clientId;
    this.sessionId = session.sessionId;
    this.transport = session.transport;
    this.#session = session;
    this.#mcp = mcp;
  }

  get busy(): boolean {
    return !this.#session.requests.idle;
  }

  say(text: string): boolean {
    return this.#session.sendAsItIs(text);
  }

  welcomed(): void {
    if (this.#mcp) this.#session.setup.start();
    else this.#session.setup.stop();
  }

  /** Over WebSocket the firmware stops listening only when its connection ends. */
  hangUp(reason: string): void {
    this.#session.close(1000, reason, false);
  }
}
