import type { DeviceSession } from "../device/device.ts";

interface Ids {
  /** The id that `device.online` reported. */
  readonly first: string;
  voice: string | undefined;
}

/** `session_id` of a `device_control` message has at most this many characters. */
const maxLength = 256;

/**
 * The session ids of this node's connections: the gateway's own, and those that voice servers gave. Over MQTT each audio
 * session has an id of its own; the id of the connection stays valid beside the newest one.
 */
export class SessionIndex {
  readonly #own = new Map<string, DeviceSession>();
  /** Voice servers choose their ids, so two devices may have the same one. */
  readonly #voice = new Map<string, Set<DeviceSession>>();
  readonly #ids = new Map<DeviceSession, Ids>();

  /** The device whose connection or current audio session has this id. */
  device(id: string): string | undefined {
    return this.#own.get(id)?.deviceId;
  }

  /** The devices whose current or last conversation has this id at the voice server. */
  devicesOfVoice(id: string): string[] {
    return [...(this.#voice.get(id) ?? [])].map(({ deviceId }) => deviceId);
  }

  add(session: DeviceSession): void {
    this.#own.set(session.sessionId, session);
    this.#ids.set(session, { first: session.sessionId, voice: undefined });
  }

  renamed(session: DeviceSession, oldId: string): void {
    const ids = this.#ids.get(session);
    if (ids === undefined) return;
    if (oldId !== ids.first) this.#own.delete(oldId);
    this.#own.set(session.sessionId, session);
  }

  setVoice(session: DeviceSession, id: string): void {
    const ids = this.#ids.get(session);
    if (ids === undefined) return;
    this.#removeVoice(session, ids);
    if (id === "" || id.length > maxLength) return;
    ids.voice = id;
    this.#voice.set(id, (this.#voice.get(id) ?? new Set()).add(session));
  }

  remove(session: DeviceSession): void {
    const ids = this.#ids.get(session);
    if (ids === undefined) return;
    this.#ids.delete(session);
    this.#own.delete(ids.first);
    this.#own.delete(session.sessionId);
    this.#removeVoice(session, ids);
  }

  #removeVoice(session: DeviceSession, ids: Ids): void {
    const { voice } = ids;
    if (voice === undefined) return;
    ids.voice = undefined;
    const sessions = this.#voice.get(voice);
    sessions?.delete(session);
    if (sessions?.size === 0) this.#voice.delete(voice);
  }
}
