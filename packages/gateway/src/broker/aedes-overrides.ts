/**
 * Overrides of aedes that its documented options do not offer. A test checks each with the installed version:
 * `packages/gateway/test/aedes-overrides.test.ts`.
 */
import type { Duplex } from "node:stream";
import type { Aedes, Client, ConnectPacket } from "aedes";

/**
 * Passes every chunk to `rejects` before aedes parses it, the first one when `begin` runs its argument. aedes limits topics
 * and messages in flight, but neither the size of a packet (its parser collects up to 256 MB in memory) nor their rate. It
 * reads all bytes by `read` of the stream. An intermediate stream would avoid this override, but costs a second pair of
 * buffers per connection and a second pass per message.
 */
export function gateReads(
  stream: Duplex,
  { begin, rejects }: { begin: (read: () => void) => void; rejects: (chunk: Uint8Array) => boolean },
): ReadGate {
  const read = stream.read.bind(stream);
  let held = false;
  let hasBegun = false;
  const release = () => {
    held = false;
    // What arrived meanwhile was announced already.
    stream.emit("readable");
  };
  stream.read = (size?: number) => {
    if (!hasBegun && stream.readableLength > 0) {
      hasBegun = true;
      let isNow = true;
      held = true;
      begin(() => {
        if (isNow) held = false;
        else release();
      });
      isNow = false;
    }
    if (held) return null;
    const chunk: unknown = read(size);
    if (!(chunk instanceof Uint8Array) || !rejects(chunk)) return chunk;
    stream.destroy();
    return null;
  };
  return {
    hold() {
      held = true;
    },
    release,
  };
}

/** Holds back the bytes of a connection. The system's buffers fill, and the other end waits. */
export interface ReadGate {
  hold(): void;
  release(): void;
}

/** Replaces the broker's own delivery, so that no client's message reaches another client. */
export const noDelivery = {
  on: (_topic: string, _listener: unknown, done?: () => void) => done?.(),
  removeListener: (_topic: string, _listener: unknown, done?: () => void) => done?.(),
  emit: (_packet: unknown, done?: () => void) => done?.(),
  close: (done: () => void) => done(),
};

/**
 * What a client of MQTT 5 must find in its CONNACK because the gateway has changed its CONNECT: the id it got, and that
 * its session ends with the connection. aedes reports only its own changes, which it makes after `preConnect`.
 */
export class ConnackNotes {
  readonly #notes = new WeakMap<Client, object>();

  /** Called in `preConnect`, with the client id that replaces the one of the packet. */
  take(client: Client, packet: ConnectPacket, clientId: string): void {
    if (packet.protocolVersion !== 5) return;
    const { properties } = packet;
    const assigned = packet.clientId === "" ? { _assignedClientId: clientId.split("/").at(-1) } : {};
    const ends = Number(properties?.sessionExpiryInterval) > 0 ? { _sessionExpiryClamped: true } : {};
    if (properties !== undefined) properties.sessionExpiryInterval = 0;
    this.#notes.set(client, { ...assigned, ...ends });
  }

  /** Called in `authenticate`, before aedes writes the CONNACK. */
  apply(client: Client): void {
    Object.assign(client, this.#notes.get(client));
  }
}

/**
 * At the end of each connection of MQTT 5, aedes asks the storage for what is left of the session, with a stream. Sessions
 * end with their connection, so nothing is left.
 */
export function endSessionsAtOnce(aedes: Aedes): void {
  Object.assign(aedes, { scheduleSessionExpiry: () => undefined });
}

/** The client that aedes disconnects when another one with this id signs in. */
export function registeredClient(aedes: Aedes, clientId: string): Client | undefined {
  const { clients } = aedes as { clients?: Readonly<Record<string, Client>> };
  return clients?.[clientId];
}
