import type { BoardSession } from "./board-session.ts";
import type { AudioChannel } from "./link.ts";
import type { VoiceBoard } from "./voice-service.ts";

/** A board's session as the voice relay sees it. */
export class VoiceSession implements VoiceBoard {
  readonly deviceId: string;
  readonly clientId: string | undefined;
  readonly sessionId: string;
  readonly transport: string;
  readonly audioChannel: AudioChannel | undefined;
  readonly #session: BoardSession;
  readonly #mcp: boolean;

  constructor(session: BoardSession, mcp: boolean) {
    this.deviceId = session.deviceId;
    this.clientId = session.identity.clientId;
    this.sessionId = session.sessionId;
    this.transport = session.transport;
    this.audioChannel = session.link.audio;
    this.#session = session;
    this.#mcp = mcp;
  }

  get busy(): boolean {
    return this.audioChannel !== undefined && !this.#session.requests.idle;
  }

  alive(): void {
    this.#session.alive();
  }

  upstreamAnswered(sessionId: string): void {
    this.#session.owner.voiceSessionStarted(this.#session, sessionId);
  }

  sendText(text: string): boolean {
    return this.#session.sendRaw(text);
  }

  helloAnswered(): void {
    if (this.#mcp) this.#session.setup.start();
    else this.#session.setup.stop();
  }

  /**
   * [VOI-8] Over MQTT, a goodbye with this session's id ends it, and the connection stays. Over WebSocket, the firmware
   * stops listening only when its connection ends.
   */
  hangUp(reason: string): void {
    if (this.audioChannel === undefined) this.#session.send({ type: "goodbye", session_id: this.sessionId });
    else this.#session.close(1000, reason, false);
  }
}
