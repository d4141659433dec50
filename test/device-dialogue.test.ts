/** The frames of docs/reference/device-dialogue.md are those of a virtual board and of the firmware's recording. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const folder = path.join(root, "docs/reference");
const pages = fs.readdirSync(folder).filter((file) => /^device-dialogue(\.\w+)?\.md$/.test(file));

interface Frame {
  readonly from: string;
  readonly text: string;
}

interface Request {
  readonly type?: string;
  readonly payload?: object;
}

function framesOf(page: string): Frame[] {
  const text = fs.readFileSync(path.join(folder, page), "utf8");
  return [...text.matchAll(/^(gateway|device) +(\{.*\})$/gm)].map(([, from = "", frame = ""]) => ({
    from,
    text: frame,
  }));
}

/** `…` stands for what was left out. */
function patternOf(text: string): RegExp {
  const parts = text.split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}

function board(): VirtualDevice {
  const device = new VirtualDevice({ board: { name: "esp-box-3" }, autoReconnect: false });
  for (let index = 0; index < 10; index += 1)
    device.addTool(`self.robot.move_${index}`, "m".repeat(800), {}, () => true);
  onTestFinished(async () => await device.stop());
  return device;
}

describe.each(pages)("%s", (page) => {
  const frames = framesOf(page);

  it("shows what a board answers to each request", async () => {
    const device = board();
    const replies: string[] = [];
    device.on("reply", ({ payload }) => replies.push(payload.toString("utf8")));
    let compared = 0;
    for (const [index, { from, text }] of frames.entries()) {
      if (from !== "gateway") continue;
      const { type, payload } = JSON.parse(text) as Request;
      if (type !== "mcp") continue;
      device.receiveMcp(JSON.stringify(payload));
      await device.idle();
      const shown = frames[index + 1]?.text ?? "";
      expect(`{"session_id":"072b04a8-x","type":"mcp","payload":${replies.at(-1) ?? ""}}`).toMatch(
        patternOf(shown),
      );
      compared += 1;
    }
    expect(replies.length).toBe(compared);
    expect(compared).toBeGreaterThan(3);
  });

  it("shows the hellos of the firmware", () => {
    const recorded = fs.readFileSync(
      path.join(root, "packages/simulator/test/fixtures/firmware-wire-transcript.jsonl"),
      "utf8",
    );
    const hellos = frames.filter(({ from, text }) => from === "device" && text.includes('"type":"hello"'));
    expect(hellos).toHaveLength(2);
    for (const { text } of hellos) expect(recorded).toContain(JSON.stringify(text).slice(1, -1));
  });
});
