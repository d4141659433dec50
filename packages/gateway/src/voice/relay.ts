/** All conversations of this gateway: whose voice server is which, and who is talking. */
import { type VoiceSession, voiceLimits } from "@tendon/protocol";
import { type Clock, isoTime, type Timer } from "../clock.ts";
import {
  type BoardHello,
  type VoiceBoard,
  type VoiceService,
  withoutKey,
  withoutSpeech,
} from "../device/device.ts";
import type { Events } from "../events/events.ts";
import { type AudioWay, besideTexts } from "./audio-path.ts";
import { Conversation } from "./conversation.ts";
import { type SignIn, type SignInNeeds, targetOf } from "./sign-in.ts";
import type { UdpAudio } from "./udp-audio.ts";
import { apartFromTexts } from "./udp-audio-path.ts";
import type { BoardTools } from "./upstream-tools.ts";

/** One voice server, as the settings have it. */
export interface VoiceServer {
  readonly signIn: SignIn;
  readonly framing: AudioWay["framing"];
  /** Who explains the photos that the voice server asks for. */
  readonly vision: "upstream" | "here";
}

export interface RelayNeeds extends SignInNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly random: () => number;
  readonly tools: BoardTools;
  /** Whether what is said may be kept among a device's frames. */
  readonly keepTexts: boolean;
  /** For boards over MQTT. */
  readonly udp: UdpAudio;
  readonly audioHost: () => string;
  /** The voice server of a board; `undefined` for boards that have none. */
  readonly serverOf: (deviceId: string) => VoiceServer | undefined;
}

const sweepMs = 10_000;

export class VoiceRelay implements VoiceService {
  readonly #needs: RelayNeeds;
  readonly #conversations = new Set<Conversation>();
  /** Sessions that boards over MQTT believe to be open: their connection broke off, and their audio did not. */
  readonly #cutOff = new Map<string, string>();
  readonly #sweep: Timer;

  constructor(needs: RelayNeeds) {
    this.#needs = needs;
    this.#sweep = needs.clock.every(sweepMs, () => this.#endSilentOnes());
  }

  /** All conversations, in numbers. */
  sessions(): Omit<VoiceSession, "alias">[] {
    return [...this.#conversations].map(({ board, upstreamName, phase, startedAt, calls, up, down }) => ({
      device: board.deviceId,
      transport: board.transport,
      upstream: upstreamName,
      state: phase,
      startedAt: isoTime(startedAt),
      calls,
      up: up.view,
      down: down.view,
    }));
  }

  /** A text of a conversation as it may be kept for whoever looks for a fault. */
  loggable(text: string): string {
    return this.#needs.keepTexts ? withoutKey(text) : withoutSpeech(text);
  }

  serves(deviceId: string): boolean {
    return (
      this.#conversations.size < voiceLimits.conversations.max && this.#needs.serverOf(deviceId) !== undefined
    );
  }

  /** [UDP-5] The board is gone in the middle of a session, and may come back without knowing that it is over. */
  sessionInterrupted(deviceId: string, sessionId: string): void {
    this.#cutOff.set(deviceId, sessionId);
    if (this.#cutOff.size <= voiceLimits.conversations.max) return;
    for (const oldest of this.#cutOff.keys()) {
      this.#cutOff.delete(oldest);
      break;
    }
  }

  /** The session that a board which has come back may still believe in. */
  takeInterruptedSession(deviceId: string): string | undefined {
    const sessionId = this.#cutOff.get(deviceId);
    this.#cutOff.delete(deviceId);
    return sessionId;
  }

  begin(board: VoiceBoard, hello: BoardHello): Conversation {
    const server = this.#needs.serverOf(board.deviceId);
    if (server === undefined) throw new TypeError("a conversation begins for a board without a voice server");
    const { clock, events, random, tools } = this.#needs;
    const audio = this.#audioOf(server, board, hello, () => conversation);
    const { signIn } = server;
    const upstreamName = new URL(signIn.by === "ota" ? (signIn.url ?? signIn.ota) : signIn.url).host;
    const conversation: Conversation = new Conversation({
      clock,
      board,
      hello,
      audio,
      upstreamName,
      random,
      tools: server.vision === "here" ? withoutVision(tools) : tools,
      renewable: signIn.by === "ota",
      target: (renewed) => targetOf(signIn, board, audio.framing, this.#needs, renewed),
      odd: (device) => events.voiceFrameNotUnderstood(device),
      onParked: (parked, { kind, detail }) =>
        events.voiceParked(parked.board.deviceId, { upstream: upstreamName, kind, detail }),
      onEnd: (ended, { kind, detail }) => {
        this.#conversations.delete(ended);
        const { up, down } = ended;
        events.voiceEnded(board.deviceId, {
          upstream: upstreamName,
          kind,
          detail,
          up: up.view,
          down: down.view,
        });
      },
    });
    this.#conversations.add(conversation);
    events.voiceStarted(board.deviceId, upstreamName);
    return conversation;
  }

  #audioOf(
    server: VoiceServer,
    board: VoiceBoard,
    hello: BoardHello,
    conversation: () => Conversation,
  ): AudioWay {
    if (board.audioChannel !== undefined) return besideTexts(board.audioChannel, hello.message.version);
    return apartFromTexts({
      udp: this.#needs.udp,
      server: this.#needs.audioHost(),
      framing: server.framing,
      hello,
      receive(frame) {
        board.alive();
        conversation().audioFromBoard(frame);
      },
      onLost(packets) {
        conversation().up.lost += packets;
      },
    });
  }

  /** Over UDP nothing tells that a board has gone; it gives a session up itself after 120 s of silence. */
  #endSilentOnes(): void {
    for (const conversation of this.#conversations) {
      const { board, silentForMs } = conversation;
      if (board.audioChannel === undefined && silentForMs >= voiceLimits.silentMs.max) conversation.lapse();
    }
  }

  stop(): void {
    this.#sweep.cancel();
    for (const conversation of this.#conversations) conversation.leave("the gateway is stopping");
  }
}

/** Photos for this voice server are explained here, whatever address it names. */
function withoutVision(tools: BoardTools): BoardTools {
  return {
    list: (device) => tools.list(device),
    about: (device) => tools.about(device),
    call: (device, tool, args, { signal }) => tools.call(device, tool, args, { signal, vision: undefined }),
  };
}
