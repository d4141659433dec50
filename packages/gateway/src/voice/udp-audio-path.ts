import { decodeAudio, encodeAudio } from "@tendon/protocol";
import type { BoardHello } from "../device/device.ts";
import type { AudioWay } from "./audio-path.ts";
import type { UdpAudio } from "./udp-audio.ts";

export interface ApartNeeds {
  readonly udp: UdpAudio;
  /** The host boards reach this gateway's UDP port at. */
  readonly server: string;
  /** How the voice server is spoken to. */
  readonly framing: AudioWay["framing"];
  readonly hello: BoardHello;
  readonly receive: (frame: Uint8Array) => void;
  readonly onLost: (packets: number) => void;
}

/** Audio over UDP while the texts go over MQTT: packets are taken out of one wrapping and put into the other. */
export function apartFromTexts({ udp, server, framing, hello, receive, onLost }: ApartNeeds): AudioWay {
  const { transport, audio_params: params } = hello.message;
  const { address, path, close } = udp.open({
    server,
    frameMs: params?.frame_duration,
    receive(audio) {
      const frame = encodeAudio(framing, audio);
      if (frame.outcome === "ok") receive(frame.message);
    },
    onLost,
  });
  return {
    framing,
    helloFields: { transport: transport === "mqtt" ? "mqtt" : "udp", udp: address },
    toBoard(frame, sent) {
      const audio = decodeAudio(framing, frame);
      return audio.outcome === "ok" && path.send(audio.message, sent);
    },
    close,
  };
}
