import { type ByteText, toText } from "./byte-text.ts";
import { type CjsonNode, member, stringMember, toInt32 } from "./cjson-parse.ts";
import { printJson } from "./cjson-print.ts";
import type { Greeting } from "./transport.ts";

/** The server's audio address and parameters. */
export interface UdpOffer {
  readonly server: string;
  readonly port: number;
  readonly key: Buffer;
  readonly nonce: Buffer;
}

export function deviceHello(greeting: Greeting): ByteText {
  return printJson({
    type: "hello",
    version: 3,
    transport: "udp",
    features: greeting.features,
    ...(greeting.textFont === undefined ? {} : { text_font: greeting.textFont }),
    audio_params: { format: "opus", sample_rate: 16000, channels: 1, frame_duration: 60 },
  });
}

/** Undefined if a part is missing or wrong: the device ignores such a hello and keeps waiting. */
export function readOffer(hello: CjsonNode): UdpOffer | undefined {
  const udp = member(hello, "udp");
  const server = stringMember(udp, "server");
  const port = member(udp, "port");
  const key = sixteenBytes(stringMember(udp, "key"));
  const nonce = sixteenBytes(stringMember(udp, "nonce"));
  if (server === undefined || port?.kind !== "number" || key === undefined || nonce === undefined) {
    return undefined;
  }
  const number = toInt32(port.value);
  return number < 1 || number > 65_535 ? undefined : { server: toText(server), port: number, key, nonce };
}

function sixteenBytes(hex: ByteText | undefined): Buffer | undefined {
  return hex !== undefined && /^[0-9a-fA-F]{32}$/.test(hex) ? Buffer.from(hex, "hex") : undefined;
}
