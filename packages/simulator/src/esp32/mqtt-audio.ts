import { type ByteText, fromText, wire } from "./byte-text.ts";
import { type CjsonNode, stringMember } from "./cjson-parse.ts";
import { deviceHello, readOffer, type UdpOffer } from "./mqtt-hello.ts";
import type { AudioChannel, OpenOutcome, SendOutcome, TransportHost } from "./transport.ts";
import { AudioCipher, UdpPath } from "./udp-audio.ts";

/** Silence after which the device no longer believes its session to be open. */
const lapseMs = 120_000;

const givenUp: OpenOutcome = { ok: false, code: "closed_early", detail: "the device gave the session up" };

type Session =
  | { readonly at: "closed" }
  | { readonly at: "greeting"; readonly settle: (outcome: OpenOutcome | Promise<OpenOutcome>) => void }
  | { readonly at: "joining"; readonly path: UdpPath }
  /** After a failed publish (`sound` is false) the path stays, but the next wake greets anew. */
  | { readonly at: "open"; readonly path: UdpPath; readonly sound: boolean };

/**
 * The audio session over MQTT: hello and goodbye through the broker, packets over UDP. It outlives the
 * connection to the broker; the session id even outlives the session, until the next hello.
 */
export class MqttAudio implements AudioChannel {
  readonly #host: TransportHost;
  readonly #say: (text: ByteText) => SendOutcome;
  #session: Session = { at: "closed" };
  #sessionId = fromText("");
  #cipher: AudioCipher | undefined;
  #lastHeard = 0;

  constructor(host: TransportHost, say: (text: ByteText) => SendOutcome) {
    this.#host = host;
    this.#say = say;
  }

  get sessionId(): ByteText {
    return this.#sessionId;
  }

  get isOpen(): boolean {
    const session = this.#session;
    return session.at === "open" && session.sound && this.#host.timers.now() - this.#lastHeard <= lapseMs;
  }

  async open(): Promise<OpenOutcome> {
    this.drop();
    this.#sessionId = fromText("");
    const greeting = this.#host.greeting();
    if (greeting === undefined) {
      return { ok: false, code: "hello_timeout", detail: "the device does not say hello" };
    }
    if (this.#say(deviceHello(greeting)) !== "sent") {
      return { ok: false, code: "closed_early", detail: "the hello could not be published" };
    }
    return await this.#awaitHello();
  }

  close(manner: "goodbye" | "silent"): boolean {
    if (this.#session.at !== "open") return false;
    this.drop();
    if (manner === "goodbye") this.#say(wire`{"session_id":"${this.#sessionId}","type":"goodbye"}`);
    return true;
  }

  drop(): void {
    const session = this.#session;
    this.#session = { at: "closed" };
    if (session.at === "greeting") session.settle(givenUp);
    else if (session.at !== "closed") session.path.close();
  }

  forget(): void {
    this.#sessionId = fromText("");
    this.#cipher = undefined;
  }

  /** What was taken in counts as life; pings and what is not understood do not. */
  heard(): void {
    this.#lastHeard = this.#host.timers.now();
  }

  publishFailed(): void {
    if (this.#session.at === "open") this.#session = { ...this.#session, sound: false };
  }

  serverHello(message: CjsonNode): void {
    if (stringMember(message, "transport") !== "udp") {
      this.#host.ignored("server hello for another transport");
      return;
    }
    // Taken over before the rest is looked at, so it stands even if the rest is useless.
    const sessionId = stringMember(message, "session_id");
    if (sessionId !== undefined) this.#sessionId = sessionId;
    const offer = readOffer(message);
    if (offer === undefined) {
      this.#host.ignored("server hello without usable udp settings");
      return;
    }
    this.#cipher = new AudioCipher(offer.key, offer.nonce);
    const session = this.#session;
    if (session.at === "greeting") session.settle(this.#join(offer));
  }

  isCurrent(sessionId: ByteText | undefined): boolean {
    return sessionId !== undefined && sessionId === this.#sessionId;
  }

  send(packet: Uint8Array, timestamp: number): SendOutcome {
    if (this.#session.at !== "open") return "closed";
    const datagram = this.#cipher?.seal(packet, timestamp);
    if (datagram === undefined) return "too-large";
    return this.#session.path.send(datagram) ? "sent" : "closed";
  }

  async #awaitHello(): Promise<OpenOutcome> {
    return await new Promise((resolve) => {
      const cancel = this.#host.timers.after(this.#host.helloWaitMs, () => {
        this.#session = { at: "closed" };
        resolve({ ok: false, code: "hello_timeout", detail: "the server sent no usable hello" });
      });
      const settle = (outcome: OpenOutcome | Promise<OpenOutcome>): void => {
        cancel();
        resolve(outcome);
      };
      this.#session = { at: "greeting", settle };
    });
  }

  async #join(offer: UdpOffer): Promise<OpenOutcome> {
    const path = new UdpPath((datagram) => this.#datagram(datagram));
    const joining: Session = { at: "joining", path };
    this.#session = joining;
    await path.connect(offer.server, offer.port);
    if (this.#session !== joining) return givenUp;
    this.#session = { at: "open", path, sound: true };
    return { ok: true };
  }

  #datagram(datagram: Buffer): void {
    const unsealed = this.#cipher?.unseal(datagram);
    if (unsealed === undefined) return;
    if (!unsealed.ok) {
      this.#host.ignored(unsealed.why);
      return;
    }
    this.heard();
    this.#host.audio(unsealed.packet);
  }
}
