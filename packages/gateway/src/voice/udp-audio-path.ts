import { decodeAudio, encodeAudio } from "@tendon/protocol";
import type { BoardHello } from "../device/device.ts";
import type { AudioPath } from "./audio-path.ts";
import type { UdpAudio } from "./udp-audio.ts";

export interface UdpAudioPathOptions {
  readonly udp: UdpAudio;
  /** The host at which boards reach the gateway's UDP port. */
  readonly server: string;
  /** The framing for the voice server. */
  readonly framing: AudioPath["framing"];
  readonly hello: BoardHello;
  readonly receive: (frame: Uint8Array) => void;
  readonly onLost: (packets: number) => void;
}

/** Audio over UDP, with the texts over MQTT. Converts packets between the UDP format and the server's framing. */
export function udpAudioPath({
  udp,
  server,
  framing,
  hello,
  receive,
  onLost,
}: UdpAudioPathOptions): AudioPath {
  const { transport, audio_params: params } = hello.message;
  const { address, session, close } = udp.open({
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
      return audio.outcome === "ok" && session.send(audio.message, sent);
    },
    close,
  };
}
