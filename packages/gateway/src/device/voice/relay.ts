/** All conversations of this gateway: whose voice server is which, and who is talking. */
import { voiceLimits } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";
import type { Events } from "../../events.ts";
import { Conversation } from "./conversation.ts";
import { type SignIn, targetWith } from "./sign-in.ts";
import type { BoardTools } from "./upstream-tools.ts";
import type { AudioWay, BoardHello, VoiceBoard } from "./voice-board.ts";

/** One voice server, as the settings have it. */
export interface VoiceServer {
  readonly url: string;
  readonly signIn: SignIn;
  readonly framing: AudioWay["framing"];
  /** Who explains the photos that the voice server asks for. */
  readonly vision: "upstream" | "here";
}

export interface RelayNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly random: () => number;
  readonly tools: BoardTools;
  /** The voice server of a board; `undefined` for boards that have none. */
  readonly serverOf: (deviceId: string) => VoiceServer | undefined;
}

export class VoiceRelay {
  readonly #needs: RelayNeeds;
  readonly #conversations = new Set<Conversation>();

  constructor(needs: RelayNeeds) {
    this.#needs = needs;
  }

  get conversations(): ReadonlySet<Conversation> {
    return this.#conversations;
  }

  serverOf(deviceId: string): VoiceServer | undefined {
    if (this.#conversations.size >= voiceLimits.conversations.max) return undefined;
    return this.#needs.serverOf(deviceId);
  }

  begin(server: VoiceServer, board: VoiceBoard, hello: BoardHello, audio: AudioWay): Conversation {
    const { clock, events, random, tools } = this.#needs;
    const upstreamName = new URL(server.url).host;
    const conversation: Conversation = new Conversation({
      clock,
      board,
      hello,
      audio,
      upstreamName,
      random,
      tools: server.vision === "here" ? withoutVision(tools) : tools,
      target: () => {
        const token = server.signIn.by === "token" ? server.signIn.token : undefined;
        return targetWith(server.url, token, board, audio.framing);
      },
      odd: (device) => events.voiceFrameNotUnderstood(device),
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

  stop(): void {
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
