import { ToolFailure } from "../errors.ts";
import { fromText, toBuffer, toText } from "./byte-text.ts";
import { formChunks, headerValue } from "./http.ts";
import type { Machine } from "./machine.ts";
import { deviceStatus } from "./reports.ts";
import { defineTool, type Tool } from "./tool.ts";
import { readWholeReply } from "./whole-reply.ts";

const boundary = "----ESP32_CAMERA_BOUNDARY";

/**
 * The tools of every board, in the firmware's order. Their descriptions are written for this project, with the same length
 * in bytes as the firmware's, so that pages break at the same tools.
 */
export function commonTools(machine: Machine): Tool[] {
  const { board, state, backlight } = machine;
  const tools = [
    defineTool(
      "self.get_device_status",
      [
        "Reports what the device is doing right now: speaker volume, screen, battery, network and so on.",
        "Call it in two situations:",
        "1. to answer a question about the present condition of the device, such as how loud the speaker is set;",
        "2. before anything is changed, as the first step, because a new value often depends on the old one (a bit louder, dim the screen).",
      ].join("\n"),
      {},
      () => toText(deviceStatus(board, state, backlight.level)),
      false,
    ),
    defineTool(
      "self.audio_speaker.set_volume",
      "Sets how loud the speaker is. When the present volume is not known yet, read it first with `self.get_device_status`, and only then call this one.",
      { volume: { type: "integer", minimum: 0, maximum: 100 } },
      ({ volume }) => {
        state.set("volume", volume);
        return true;
      },
      false,
    ),
  ];
  if (board.backlight) tools.push(brightnessTool(machine));
  if (board.screen !== undefined && !board.screen.monochrome) tools.push(themeTool(machine));
  if (board.camera) tools.push(photoTool(machine));
  return tools;
}

function brightnessTool({ backlight }: Machine): Tool {
  return defineTool(
    "self.screen.set_brightness",
    "Sets how bright the screen shines",
    { brightness: { type: "integer", minimum: 0, maximum: 100 } },
    ({ brightness }) => {
      backlight.set(brightness);
      return true;
    },
    false,
  );
}

function themeTool({ state }: Machine): Tool {
  return defineTool(
    "self.screen.set_theme",
    "Sets the theme of the screen, which is either `light` or `dark`.",
    { theme: { type: "string" } },
    ({ theme }) => {
      if (theme !== "light" && theme !== "dark") return false;
      state.set("theme", theme);
      return true;
    },
    false,
  );
}

function photoTool(machine: Machine): Tool {
  return defineTool(
    "self.camera.take_photo",
    [
      "Takes a photo with the camera of the device and has it explained.",
      "Use it whenever the person asks to look at something.",
      "Arguments:",
      "  `question`: what the person wants to know about the photo.",
      "The answer is, word for word, what the vision service says back.",
    ].join("\n"),
    { question: { type: "string" } },
    async ({ question }) => await takePhoto(machine, question),
    false,
  );
}

async function takePhoto(machine: Machine, question: string): Promise<string> {
  const { vision, board } = machine;
  if (vision === undefined || vision.url === "")
    throw new ToolFailure("Image explain URL or token is not set");
  const photo = await machine.picture(80);
  if (photo === undefined) throw new ToolFailure("Failed to capture photo");
  const headers = {
    "Device-Id": board.mac,
    "Client-Id": board.clientId,
    ...(vision.token === "" ? {} : { Authorization: `Bearer ${headerValue(vision.token)}` }),
    "Content-Type": `multipart/form-data; boundary=${boundary}`,
    "Transfer-Encoding": "chunked",
    Connection: "close",
  };
  const chunks = formChunks(boundary, [
    { name: "question", content: toBuffer(fromText(question)) },
    { name: "file", filename: "camera.jpg", contentType: "image/jpeg", content: photo },
  ]);
  const outcome = await machine.http.post(toText(vision.url), headers, chunks, machine.alive);
  if (outcome.kind === "unopened") throw new ToolFailure("Failed to connect to explain URL");
  if (outcome.status !== 200) {
    outcome.discard();
    throw new ToolFailure("Failed to upload photo");
  }
  return toText(await readWholeReply(machine, outcome));
}
