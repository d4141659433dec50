import { type ByteText, fromText, wire } from "./byte-text.ts";
import { type CjsonNode, stringMember } from "./cjson-parse.ts";
import { deviceHello, readOffer, type UdpOffer } from "./mqtt-hello.ts";
import type { AudioChannel, OpenOutcome, SendOutcome, TransportHost } from "./transport.ts";
import { AudioCipher, UdpPath } from "./udp-audio.ts";

/** Silence after which the device considers its session closed. */
const lapseMs = 120_000;

const givenUp: OpenOutcome = { ok: false, code: "closed_early", detail: "the device cancelled the session" };

type Session =
  | { readonly at: "closed" }
  | { readonly at: "greeting"; readonly settle: (outcome: OpenOutcome | Promise<OpenOutcome>) => void }
  | { readonly at: "joining"; readonly path: UdpPath }
  /** After a failed publish (`sound` is false) the UDP path stays, but the next conversation sends hello again. */
  | { readonly at: "open"; readonly path: UdpPath; readonly sound: boolean };

/**
 * The audio session over MQTT: hello and goodbye through the broker, packets over UDP. It survives a reconnection to the
 * broker. The session id is kept even after the session, until the next hello.
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
      return { ok: false, code: "hello_timeout", detail: "the device does not send hello" };
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

  /** Processed messages reset the silence timeout; pings and ignored messages do not. */
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
    // Stored before the rest is checked, so it applies even if the rest is invalid.
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
