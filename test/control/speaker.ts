import { until } from "../inbox.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { type Fields, type Frame, type RawDevice, type ToolEntry, textContent, tool } from "../raw-device.ts";
import { type JoinOptions, openSite, type Site, type SiteOptions } from "../site.ts";

export const statusTool = "self.get_device_status";
export const volumeTool = "self.audio_speaker.set_volume";
export const upTool = "self.audio_speaker.volume_up";
export const downTool = "self.audio_speaker.volume_down";
export const muteTool = "self.audio_speaker.mute";
export const unmuteTool = "self.audio_speaker.unmute";
const percent = { type: "integer", minimum: 0, maximum: 100 };

/** The speaker tools of stock firmware: no steps, no mute. */
export const stockTools: readonly ToolEntry[] = [
  tool(statusTool),
  tool(volumeTool, { volume: percent }, ["volume"]),
];

/** Firmware of one's own with a tool for each action. */
export const nativeTools: readonly ToolEntry[] = [
  ...stockTools,
  tool(upTool, { step: percent }),
  tool(downTool, { step: percent }),
  tool(muteTool),
  tool(unmuteTool),
];

export interface ToolCall {
  readonly name: string;
  readonly arguments: Fields;
  readonly id: unknown;
  readonly frame: Frame;
}

/** A device with a speaker that executes and records calls, until it is held. */
export class Speaker {
  readonly device: RawDevice;
  readonly calls: ToolCall[] = [];
  volume: number;
  /** Whether answers wait; calls are still recorded. */
  held = false;
  /** Replacement answers by tool name. */
  readonly answers = new Map<string, (call: ToolCall) => Fields>();

  constructor(device: RawDevice, volume: number) {
    this.device = device;
    this.volume = volume;
    void this.#serve().catch(() => undefined);
  }

  get names(): string[] {
    return this.calls.map(({ name }) => name);
  }

  async #serve(): Promise<void> {
    for (;;) {
      const frame = JSON.parse(await this.device.wire.nextText()) as Frame;
      const payload = frame["payload"] as Fields;
      const params = payload["params"] as { name: string; arguments: Fields };
      const call = { ...params, id: payload["id"], frame };
      this.calls.push(call);
      if (!this.held) this.answer(call);
    }
  }

  answer(call: ToolCall): void {
    const answer = this.answers.get(call.name)?.(call) ?? this.#obey(call);
    this.device.sendMcp({ jsonrpc: "2.0", id: call.id, ...answer });
  }

  /** Continues after it was held. */
  release(): void {
    this.held = false;
    const last = this.calls.at(-1);
    if (last !== undefined) this.answer(last);
  }

  async called(count: number): Promise<void> {
    await until(() => this.calls.length >= count, `${count} calls`);
  }

  #obey({ name, arguments: args }: ToolCall): Fields {
    if (name === statusTool) {
      return { result: textContent(JSON.stringify({ audio_speaker: { volume: this.volume } })) };
    }
    if (name === volumeTool) this.volume = Number(args["volume"]);
    return { result: textContent("true") };
  }
}

export interface SpeakerOptions extends SiteOptions {
  readonly volume?: number;
  readonly tools?: readonly ToolEntry[];
  readonly transport?: JoinOptions["transport"];
}

export async function openSpeaker(options: SpeakerOptions = {}): Promise<{ site: Site; speaker: Speaker }> {
  const { volume = 50, tools = stockTools, transport = mqttTransport, ...siteOptions } = options;
  const site = await openSite(siteOptions);
  const device = await site.join({ transport, tools });
  return { site, speaker: new Speaker(device, volume) };
}
