import { createSign, generateKeyPairSync } from "node:crypto";

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const head = size < 128 ? [tag, size] : [tag, 0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const time = (year: number): Buffer => der(0x18, Buffer.from(`${year}0101000000Z`));

/** A certificate for 127.0.0.1, made for one test run so that no key has to be kept anywhere. */
export function selfSigned(): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const algorithm = sequence(oid("2a8648ce3d040302"));
  const name = sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from("scripted broker")))));
  const address = sequence(der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = der(0xa3, sequence(sequence(oid("551d11"), der(0x04, address))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(time(2020), time(2120)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    extensions,
  );
  const signature = createSign("sha256").update(body).sign(privateKey);
  const whole = sequence(body, algorithm, der(0x03, Buffer.from([0]), signature));
  const lines = whole.toString("base64").replace(/.{64}/g, "$&\n");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}
