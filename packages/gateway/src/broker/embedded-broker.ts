import type { EventEmitter } from "node:events";
import net from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { type ErrorCode, limits, readMqttClientId } from "@tendon/protocol";
import { Aedes, type AuthenticateError, type Client, type PublishPacket, type Subscription } from "aedes";
import type { Clock, Timer } from "../clock.ts";
import { messageOf, StartError } from "../errors.ts";
import { type Events, takenOver } from "../events/events.ts";
import { gateReads } from "./aedes-overrides.ts";
import { appConnection, deviceConnection, sendToApp } from "./client-connections.ts";
import { isDevice, ownName, pushTopic } from "./client-ids.ts";
import type { App, BrokerClaim, DeviceListener, OpenDevice } from "./connections.ts";
import { FilterTree } from "./filter-tree.ts";
import { PacketGate } from "./packet-gate.ts";

export interface BrokerNeeds {
  readonly clock: Clock;
  readonly events: Events;
  /** Who takes over a device; throws with the reason if it may not come in. */
  readonly admitDevice: (claim: BrokerClaim) => OpenDevice;
  /** The app a token belongs to; throws if it is nobody's. */
  readonly admitApp: (claim: BrokerClaim) => App;
  /** What whoever subscribes to these filters is told at once, if it may see it. */
  readonly retained: (filters: readonly string[]) => Iterable<Retained>;
  /** Counts a failed sign-in; says how long that address ought to have waited [PRV-8]. */
  readonly signInFailed: (from: string | undefined) => number;
}

interface Retained {
  readonly topic: string;
  readonly payload: string;
}

interface DevicePeer {
  readonly kind: "device";
  readonly clientId: string;
  readonly open: OpenDevice;
  listener: DeviceListener | undefined;
  /** What came between the CONNACK and the moment the broker calls it ready: a board says hello at once. */
  readonly early: Buffer[];
  /** A newer connection of the same device has been admitted. */
  displaced: boolean;
}

interface AppPeer {
  readonly kind: "app";
  readonly client: Client;
  readonly app: App;
  readonly filters: Set<string>;
  disconnected: (() => void) | undefined;
  /** As with devices: what is asked before the answer could find its way back. */
  readonly early: { readonly topic: string; readonly bytes: Buffer }[];
}

const deviceTopic = "device-server";
const appRoot = "tendon/";
const connectPatienceMs = 10_000;
/** MQTT lets a client do without pings; one whose machine has vanished is then noticed by TCP. */
const noticeVanished = { keepAlive: true, keepAliveInitialDelay: 60_000 };
const drainPatienceMs = 30_000;
const BAD_CLIENT_ID = 2;
const UNAVAILABLE = 3;
const BAD_CREDENTIALS = 4;
const NOT_AUTHORISED = 5;
/** The return code of a SUBACK for a filter that is refused. */
const NOT_GRANTED = 128;

export class EmbeddedBroker {
  readonly #needs: BrokerNeeds;
  readonly #aedes: Aedes;
  readonly #peers = new Map<Client, DevicePeer | AppPeer>();
  /** The newest peer of each device. */
  readonly #devices = new Map<string, DevicePeer>();
  readonly #subscribers = new FilterTree<AppPeer>();
  readonly #servers: net.Server[] = [];
  readonly #tlsServers: tls.Server[] = [];
  /** Every open connection, with the end of its patience until it has signed in. */
  readonly #sockets = new Map<Duplex, Timer>();
  /** Where each of them comes from. */
  readonly #sources = new WeakMap<Duplex, string>();
  #refusing = false;

  private constructor(needs: BrokerNeeds) {
    this.#needs = needs;
    this.#aedes = new Aedes({
      mq: noDelivery,
      drainTimeout: drainPatienceMs,
      maxClientsIdLength: limits.mqttClientIdLength.max,
      maxTopicLevels: 16,
      preConnect: (_client, packet, done) => {
        // Sessions are not kept for clients that are away: nothing waits for a device or an app that has gone, and
        // nobody is to act on its will.
        const clientId = ownName(packet.clientId, packet.password);
        Object.assign(packet, { clean: true, clientId, will: undefined });
        done(null, true);
      },
      authenticate: (client, username, password, done) =>
        this.#authenticate(client, username, password, done),
      authorizePublish: (_client, packet, done) => {
        // The broker keeps no message for later subscribers.
        packet.retain = false;
        done(null);
      },
      published: (packet, client: Client | null, done) => {
        if (client !== null && !client.closed) this.#take(client, packet);
        done(null);
      },
      authorizeSubscribe: (client, subscription, done) => {
        done(null, this.#maySubscribe(client, subscription.topic) ? subscription : null);
      },
      authorizeForward: (client, packet) => (this.#mayReceive(client, packet.topic) ? packet : null),
    });
    this.#aedes.on("clientReady", (client) => this.#ready(client));
    this.#aedes.on("ping", (_packet, client) => this.#heard(client));
    this.#aedes.on("subscribe", (subscriptions, client) => void this.#sendRetained(client, subscriptions));
    this.#aedes.on("unsubscribe", (filters, client) => this.#forgetFilters(client, filters));
    this.#aedes.on("clientDisconnect", (client) => this.#gone(client, "the device closed the connection"));
    this.#aedes.on("keepaliveTimeout", (client) =>
      this.#gone(client, "the device stopped sending keep-alives"),
    );
    this.#aedes.on("clientError", (client, error) =>
      this.#gone(client, `the connection broke off (${error.message})`),
    );
    this.#aedes.on("connectionError", () => undefined);
    // Its types forget this one; without a listener a fault of one client would end the process.
    const emitter: EventEmitter = this.#aedes;
    emitter.on("error", () => undefined);
  }

  static async start(needs: BrokerNeeds): Promise<EmbeddedBroker> {
    const broker = new EmbeddedBroker(needs);
    await broker.#aedes.listen();
    return broker;
  }

  /** Listens for MQTT over TCP, or over TLS where there are keys; gives the real port. */
  async listen(host: string, port: number, keys?: { cert: Buffer; key: Buffer }): Promise<number> {
    const handle = (socket: net.Socket) => this.accept(socket, socket.remoteAddress);
    const server =
      keys === undefined ? net.createServer(noticeVanished, handle) : this.#tlsServer(keys, handle);
    server.on("error", () => undefined);
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => {
        const why = error.code === "EADDRINUSE" ? "is taken" : `cannot be used (${messageOf(error)})`;
        reject(
          new StartError(
            `MQTT port ${port} on ${host} ${why}. Choose another with --mqtt-port, or 0 for any.`,
          ),
        );
      });
      server.listen(port, host, resolve);
    });
    this.#servers.push(server);
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : port;
  }

  /** Connections from now on get this certificate; those that stand are left alone. */
  useKeys(keys: { readonly cert: Buffer; readonly key: Buffer }): void {
    for (const server of this.#tlsServers) server.setSecureContext(keys);
  }

  /** Takes a connection from any carrier: a TCP or TLS socket, or a WebSocket's stream. */
  accept(socket: Duplex, from: string | undefined): void {
    if (this.#sockets.size >= limits.connectedDevices.max) {
      socket.destroy();
      return;
    }
    if (from !== undefined) this.#sources.set(socket, from);
    this.#sockets.set(
      socket,
      this.#needs.clock.after(connectPatienceMs, () => socket.destroy()),
    );
    socket.once("close", () => {
      this.#sockets.get(socket)?.cancel();
      this.#sockets.delete(socket);
    });
    if (socket instanceof net.Socket) socket.setNoDelay(true);
    const gate = new PacketGate(limits.mqttConnectBytes.max, limits.mqttPacketBytes.max);
    gateReads(socket, (chunk) => {
      const refused = gate.admit(chunk);
      if (refused === undefined) return false;
      // It costs nothing to send: whoever does it again and again is not to fill the log.
      if (this.#needs.signInFailed(from) > 0) this.#needs.events.connectionThrottled();
      else this.#needs.events.connectionRefused({ code: "payload_too_large", reason: refused, from });
      return true;
    });
    this.#aedes.handle(socket);
  }

  /**
   * For apps that may see it. Not by way of the broker itself: there one app that does not read would hold up all the
   * others, and a reply in between counts as newer and makes what still waits look like a repeat.
   */
  publish(topic: string, payload: string): void {
    for (const { client } of this.#subscribers.matching(topic)) sendToApp(client, topic, payload);
  }

  /** From now on nobody comes in: a balancer finds the port shut, who has dialled already hears why. */
  rejectNew(): void {
    this.#refusing = true;
    for (const server of this.#servers) server.close();
  }

  async stop(): Promise<void> {
    this.rejectNew();
    await new Promise<void>((resolve) => this.#aedes.close(() => resolve()));
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  #tlsServer(keys: { cert: Buffer; key: Buffer }, handle: (socket: net.Socket) => void): tls.Server {
    const server = tls.createServer(
      { ...keys, ...noticeVanished, handshakeTimeout: connectPatienceMs },
      handle,
    );
    this.#tlsServers.push(server);
    return server;
  }

  #authenticate(
    client: Client,
    username: string | undefined,
    password: Buffer | undefined,
    done: (error: AuthenticateError | null, success: boolean | null) => void,
  ): void {
    const from = this.#sources.get(client.conn);
    const claim: BrokerClaim = { clientId: client.id, username, password: password?.toString(), from };
    const { deviceId: device } = readMqttClientId(client.id) ?? {};
    const refuse = (code: ErrorCode, reason: string, returnCode: number) => {
      this.#needs.events.connectionRefused({ code, reason, device, from });
      done(Object.assign(new Refused(reason), { returnCode }), false);
    };
    if (this.#refusing) {
      refuse("shutting_down", "the gateway is stopping", UNAVAILABLE);
      return;
    }
    if (client.id.length > limits.mqttClientIdLength.max) {
      refuse(limits.mqttClientIdLength.error, "the client id is too long", BAD_CLIENT_ID);
      return;
    }
    // The broker tells of a client's end only once it is registered; one may break off before that.
    client.conn.once("close", () => this.#gone(client, "the device closed the connection"));
    try {
      if (isDevice(client.id)) {
        const open = this.#needs.admitDevice(claim);
        // The broker is about to close the device's older connection; its end is to be told for what it is.
        const older = this.#devices.get(client.id);
        if (older !== undefined) older.displaced = true;
        const clientId = client.id;
        const peer: DevicePeer = {
          kind: "device",
          clientId,
          open,
          listener: undefined,
          early: [],
          displaced: false,
        };
        this.#peers.set(client, peer);
        this.#devices.set(clientId, peer);
      } else {
        const app = this.#needs.admitApp(claim);
        this.#peers.set(client, {
          kind: "app",
          client,
          app,
          filters: new Set(),
          disconnected: undefined,
          early: [],
        });
      }
      done(null, true);
    } catch (error) {
      const returnCode = claim.password === undefined ? NOT_AUTHORISED : BAD_CREDENTIALS;
      if (this.#needs.signInFailed(from) === 0) refuse("unauthenticated", messageOf(error), returnCode);
      else {
        this.#needs.events.connectionThrottled();
        done(Object.assign(new Refused("too many failed sign-ins"), { returnCode: UNAVAILABLE }), false);
      }
    }
  }

  #ready(client: Client): void {
    const peer = this.#peers.get(client);
    if (peer === undefined) return;
    this.#sockets.get(client.conn)?.cancel();
    if (peer.kind === "app") {
      peer.disconnected = peer.app.connected(
        appConnection(client, (topic) => this.#subscribers.matches(topic, peer)),
      );
      for (const { topic, bytes } of peer.early.splice(0))
        if (!client.closed) peer.app.published(topic, bytes);
    } else {
      try {
        peer.listener = peer.open(deviceConnection(client));
        for (const message of peer.early.splice(0)) peer.listener.message(message);
      } catch {
        // It was revoked while it signed in.
        client.close();
      }
    }
  }

  #take(client: Client, { topic, payload }: PublishPacket): void {
    const peer = this.#peers.get(client);
    if (peer === undefined) return;
    const bytes = typeof payload === "string" ? Buffer.from(payload) : payload;
    if (peer.kind === "app") this.#takeRequest(peer, topic, bytes);
    else if (topic === deviceTopic) this.#takeFrame(peer, bytes);
    else
      this.#needs.events.frameNotUnderstood(
        readMqttClientId(peer.clientId)?.deviceId ?? "",
        "unknown",
        "another topic",
      );
  }

  #takeFrame(peer: DevicePeer, bytes: Buffer): void {
    if (peer.listener !== undefined) peer.listener.message(bytes);
    else if (peer.early.length < mostEarly) peer.early.push(bytes);
  }

  #takeRequest(peer: AppPeer, topic: string, bytes: Buffer): void {
    if (peer.disconnected !== undefined) peer.app.published(topic, bytes);
    else if (peer.early.length < mostEarly) peer.early.push({ topic, bytes });
  }

  #heard(client: Client): void {
    const peer = this.#peers.get(client);
    if (peer?.kind === "device") peer.listener?.alive();
  }

  #gone(client: Client, reason: string): void {
    const peer = this.#peers.get(client);
    this.#peers.delete(client);
    if (peer?.kind === "device" && this.#devices.get(peer.clientId) === peer)
      this.#devices.delete(peer.clientId);
    if (peer?.kind === "device") peer.listener?.closed(peer.displaced ? takenOver : reason);
    if (peer?.kind !== "app") return;
    for (const filter of peer.filters) this.#subscribers.delete(filter, peer);
    peer.disconnected?.();
  }

  #maySubscribe(client: Client, filter: string): boolean {
    const peer = this.#peers.get(client);
    if (peer === undefined || filter.length > limits.mqttTopicLength.max) return false;
    if (peer.kind === "device") return filter === pushTopic(peer.clientId);
    if (peer.filters.has(filter)) return true;
    if (!filter.startsWith(appRoot) || peer.filters.size >= limits.mqttSubscriptions.max) return false;
    peer.filters.add(filter);
    this.#subscribers.add(filter, peer);
    return true;
  }

  #mayReceive(client: Client, topic: string): boolean {
    const peer = this.#peers.get(client);
    if (peer === undefined) return false;
    return peer.kind === "device" ? topic === pushTopic(peer.clientId) : peer.app.maySee(topic);
  }

  /** A new subscriber gets the current state. Each message waits until the one before it is written. */
  async #sendRetained(client: Client, subscriptions: readonly Subscription[]): Promise<void> {
    if (this.#peers.get(client)?.kind !== "app") return;
    const granted = subscriptions.filter(({ qos }) => Number(qos) !== NOT_GRANTED).map(({ topic }) => topic);
    if (granted.length === 0) return;
    for (const { topic, payload } of this.#needs.retained(granted)) {
      if (client.closed) return;
      const packet = { cmd: "publish", topic, payload, qos: 0, retain: true, dup: false } as const;
      await new Promise<void>((resolve) => client.publish(packet, () => resolve()));
    }
  }

  #forgetFilters(client: Client, filters: readonly string[]): void {
    const peer = this.#peers.get(client);
    if (peer?.kind !== "app") return;
    for (const filter of filters) {
      peer.filters.delete(filter);
      this.#subscribers.delete(filter, peer);
    }
  }
}

/** Milliseconds of it; whoever says more before it is answered says too much. */
const mostEarly = 32;

class Refused extends Error {}

/** In place of the broker's own delivery: what one client publishes reaches no other through the broker. */
const noDelivery = {
  on: (_topic: string, _listener: unknown, done?: () => void) => done?.(),
  removeListener: (_topic: string, _listener: unknown, done?: () => void) => done?.(),
  emit: (_packet: unknown, done?: () => void) => done?.(),
  close: (done: () => void) => done(),
};
