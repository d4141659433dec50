/** Calls that wait until their device is online, in the browser. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { startBoard, untilOnline } from "./console-site.ts";
import { sharedConsole } from "./shared-console.ts";

const setVolume = "self.audio_speaker.set_volume";
const shared = sharedConsole();

describe("a device that is offline", () => {
  it("[QUE-1] is offered a queued call, which is listed, and runs when the device is back", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.startBoard("asleep", { autoReconnect: false });
    await device.stop();
    await untilOnline(site, device.id, false);
    await shared.go(`/devices/${device.id}`);
    const row = page.getByRole("listitem").filter({ has: page.getByText(setVolume, { exact: true }) });
    await row.getByRole("button", { expanded: false }).click();
    await row.getByRole("spinbutton").fill("33");
    await row.getByLabel("Expires after").selectOption("week");
    await row.getByRole("button", { name: "Queue it" }).click();
    await row.getByRole("status").getByText("Queued").waitFor();
    const waiting = page.getByRole("list", { name: "Queued calls" });
    await waiting.getByText("volume: 33").waitFor();
    await waiting.getByText("Expires in 7 days").waitFor();
    await waiting.getByRole("link").click();
    await page.getByRole("status").getByText("Waiting until the device is online").waitFor();
    const timeline = page.getByRole("list", { name: "Timeline" });
    for (const word of ["Requested", "Expires"]) await timeline.getByText(word, { exact: true }).waitFor();
    const back = await startBoard(site, device.id, "asleep");
    await page.getByRole("heading", { name: "Done" }).waitFor();
    for (const word of ["Device online", "Sent", "Answered"])
      await timeline.getByText(word, { exact: true }).waitFor();
    await timeline.getByText(/^Away/).first().waitFor();
    expect(back.state.get("volume")).toBe(33);
    complaints.check();
  });

  it("[QUE-3] shows the number of its queued calls in the fleet, and how a call ended", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.startBoard("away", { autoReconnect: false });
    await device.stop();
    await untilOnline(site, device.id, false);
    await shared.go("/?q=away");
    const row = page.getByRole("listitem").filter({ hasText: "away" });
    await row.waitFor();
    const queue = async (volume: number) => {
      const { body } = await site.call(device.id, setVolume, { volume }, queued);
      return String(body["callId"]);
    };
    const older = await queue(1);
    const newer = await queue(2);
    await row.getByText("1 queued call").waitFor();
    await shared.go(`/calls/${older}`);
    await page.getByRole("heading", { name: "Replaced by a newer call" }).waitFor();
    await page.getByRole("alert").getByText("The newer call runs in its place.").waitFor();
    await shared.go(`/calls/${newer}`);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("heading", { name: "The call was cancelled" }).waitFor();
    await page.getByRole("list", { name: "Timeline" }).getByText("Cancelled", { exact: true }).waitFor();
    await until(async () => (await site.device(device.id))["waitingCalls"] === 0, "no queued calls");
    // A call that ended can be queued again from its page.
    await page.getByRole("button", { name: "Queue it" }).click();
    await page.getByRole("status").getByText("Waiting until the device is online").waitFor();
    await until(async () => (await site.device(device.id))["waitingCalls"] === 1, "the call is queued again");
    complaints.check();
  });

  it("[QUE-1] is queued for by a call to several devices", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.startBoard("sleepy", { autoReconnect: false });
    await device.stop();
    await untilOnline(site, device.id, false);
    await shared.go("/?q=sleepy");
    await page.getByLabel("Select sleepy").check();
    await page.getByRole("button", { name: "Run a tool" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Tool").selectOption("self.get_device_status");
    await dialog.getByLabel("Queue it for devices that are offline").check();
    await dialog.getByLabel("Expires after").selectOption("hour");
    await dialog.getByRole("button", { name: "Run on 1 device" }).click();
    await dialog.getByText("Waiting until the device is online").waitFor();
    await dialog.getByText("0 done · 1 queued call").waitFor();
    complaints.check();
  });
});

const queued = { whenOffline: "queue", supersedeKey: "volume" };
