/** All conversations of this node, and the voice server of each board. */
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
import { type AudioPath, inlineAudioPath } from "./audio-path.ts";
import { Conversation } from "./conversation.ts";
import { type SignIn, type SignInDependencies, targetOf } from "./sign-in.ts";
import type { UdpAudio } from "./udp-audio.ts";
import { udpAudioPath } from "./udp-audio-path.ts";
import type { BoardTools } from "./upstream-tools.ts";

/** One configured voice server. */
export interface VoiceServer {
  readonly signIn: SignIn;
  readonly framing: AudioPath["framing"];
  /** Which service describes the photos that the voice server requests. */
  readonly vision: "upstream" | "here";
}

export interface VoiceRelayDependencies extends SignInDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly random: () => number;
  readonly tools: BoardTools;
  /** Whether the frame log may contain the texts of conversations. */
  readonly keepTexts: boolean;
  /** For boards over MQTT. */
  readonly udp: UdpAudio;
  readonly audioHost: () => string;
  /** The voice server of a board, if it has one. */
  readonly serverOf: (deviceId: string) => VoiceServer | undefined;
}

const sweepMs = 10_000;

export class VoiceRelay implements VoiceService {
  readonly #dependencies: VoiceRelayDependencies;
  readonly #conversations = new Set<Conversation>();
  /** Sessions that boards over MQTT may still consider open, because only their MQTT connection was lost. */
  readonly #interrupted = new Map<string, string>();
  readonly #sweep: Timer;

  constructor(dependencies: VoiceRelayDependencies) {
    this.#dependencies = dependencies;
    this.#sweep = dependencies.clock.every(sweepMs, () => this.#endSilentConversations());
  }

  /** Statistics of all conversations. */
  sessions(): Omit<VoiceSession, "alias">[] {
    return [...this.#conversations].map((conversation) => {
      const {
        board,
        upstreamName,
        upstreamSessionId = null,
        phase,
        startedAt,
        calls,
        up,
        down,
      } = conversation;
      return {
        device: board.deviceId,
        transport: board.transport,
        sessionId: board.sessionId,
        upstreamSessionId,
        upstream: upstreamName,
        state: phase,
        startedAt: isoTime(startedAt),
        calls,
        up: up.view,
        down: down.view,
      };
    });
  }

  loggable(text: string): string {
    return this.#dependencies.keepTexts ? withoutKey(text) : withoutSpeech(text);
  }

  serves(deviceId: string): boolean {
    return (
      this.#conversations.size < voiceLimits.conversations.max &&
      this.#dependencies.serverOf(deviceId) !== undefined
    );
  }

  /** [UDP-5] Remembers the session of a board that disconnected during it. */
  sessionInterrupted(deviceId: string, sessionId: string): void {
    this.#interrupted.set(deviceId, sessionId);
    if (this.#interrupted.size <= voiceLimits.conversations.max) return;
    for (const oldest of this.#interrupted.keys()) {
      this.#interrupted.delete(oldest);
      break;
    }
  }

  takeInterruptedSession(deviceId: string): string | undefined {
    const sessionId = this.#interrupted.get(deviceId);
    this.#interrupted.delete(deviceId);
    return sessionId;
  }

  begin(board: VoiceBoard, hello: BoardHello): Conversation {
    const server = this.#dependencies.serverOf(board.deviceId);
    if (server === undefined)
      throw new TypeError("a conversation was started for a board without a voice server");
    const { clock, events, random, tools } = this.#dependencies;
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
      target: (renewed) => targetOf(signIn, board, audio.framing, this.#dependencies, renewed),
      invalidFrame: (device) => events.voiceFrameNotUnderstood(device),
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
  ): AudioPath {
    if (board.audioChannel !== undefined) return inlineAudioPath(board.audioChannel, hello.message.version);
    return udpAudioPath({
      udp: this.#dependencies.udp,
      server: this.#dependencies.audioHost(),
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

  /** Over UDP the gateway cannot see that a board has gone. A board closes its session after 120 s of silence. */
  #endSilentConversations(): void {
    for (const conversation of this.#conversations) {
      const { board, silentForMs } = conversation;
      if (board.audioChannel === undefined && silentForMs >= voiceLimits.silentMs.max)
        conversation.endSilent();
    }
  }

  stop(): void {
    this.#sweep.cancel();
    for (const conversation of this.#conversations) conversation.leave("the gateway is stopping");
  }
}

/** The gateway describes photos for this voice server, also if the server names its own address. */
function withoutVision(tools: BoardTools): BoardTools {
  return {
    list: (device) => tools.list(device),
    about: (device) => tools.about(device),
    call: (device, tool, args, { signal }) => tools.call(device, tool, args, { signal, vision: undefined }),
  };
}
