/** The call list, the page of one call, and calls that run, in the browser. */
import { describe, expect, it, onTestFinished } from "vitest";
import { says, startProvider } from "../../packages/gateway/test/vision/fake-provider.ts";
import { Inbox, until } from "../inbox.ts";
import { textContent, tool } from "../raw-device.ts";
import { openConsole } from "./browser.ts";
import { desk, openConsoleSite, startBoard, untilOnline } from "./console-site.ts";
import { sharedConsole } from "./shared-console.ts";

const shared = sharedConsole();

describe("calls", () => {
  it("are listed live, filtered, shown with their trace, and repeated", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.startBoard("listed");
    await site.call(device.id, "self.audio_speaker.set_volume", { volume: 20 });
    await shared.go(`/calls?device=${device.id}`);
    const list = page.getByRole("list", { name: "Calls" });
    await list.getByText("self.audio_speaker.set_volume").waitFor();
    // A call by another client appears automatically.
    await site.call(device.id, "self.audio_speaker.set_volume", { volume: 400 });
    await list.getByText("Invalid arguments").waitFor();
    await page.getByLabel("Outcome").selectOption("ok");
    await list.getByText("Invalid arguments").waitFor({ state: "detached" });
    await list.getByRole("link").first().click();
    const timeline = page.getByRole("list", { name: "Timeline" });
    for (const word of ["Requested", "Allowed", "Sent", "Answered"])
      await timeline.getByText(word, { exact: true }).waitFor();
    await page.getByText("volume:").waitFor();
    await page.getByText(/"method":"tools\/call"/).waitFor();
    const before = page.url();
    await site.call(device.id, "self.audio_speaker.set_volume", { volume: 90 });
    await page.getByRole("button", { name: "Repeat" }).click();
    await until(() => device.state.get("volume") === 20, "the volume of the story");
    await until(() => page.url() !== before, "the story of the new call");
    complaints.check();
  });

  it("that failed show the reason and what to do", async () => {
    const { site, page } = shared;
    const device = await shared.startBoard("stopped", { autoReconnect: false });
    await device.stop();
    await untilOnline(site, device.id, false);
    const { body } = await site.call(device.id, "self.get_device_status");
    await shared.go(`/calls/${String(body["callId"])}`);
    await page.getByText("The device is offline").waitFor();
    await page.getByRole("list", { name: "Timeline" }).getByText("Not sent").waitFor();
    await page.getByText("Check its power and network").waitFor();
    await page.getByText("No arguments").waitFor();
    await page.getByRole("main").getByRole("link", { name: "Calls", exact: true }).click();
    await page.getByRole("heading", { name: "Calls", exact: true }).waitFor();
  });
});

describe("the page of a call", () => {
  it("shows the answer, the caller and only its own frames", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.join({ tools: [tool("get_state", { room: { type: "string" } })] });
    const ask = async (room: string, answer: string) => {
      const call = site.call(device.id, "get_state", { room });
      device.reply((await device.nextRequest("tools/call")).id, textContent(answer));
      return String((await call).body["callId"]);
    };
    await ask("hall", "before");
    const callId = await ask("kitchen", JSON.stringify({ degrees: 21, token: "hidden" }));
    await ask("hall", "after");
    await shared.go(`/calls/${callId}`);
    await page.getByText("degrees:").waitFor();
    await page.getByText('"•••"').waitFor();
    await page.getByText("REST API").waitFor();
    const frames = page.getByRole("group");
    await frames.first().waitFor();
    expect(await frames.count()).toBe(2);
    expect(await page.getByText("before").count()).toBe(0);
    const timeline = page.getByRole("list", { name: "Timeline" });
    await timeline
      .getByText(/^Queue/)
      .first()
      .waitFor();
    await timeline
      .getByText(/^Device/)
      .first()
      .waitFor();
    complaints.check();
  });

  it("shows the photo itself", async () => {
    const { site, page, complaints } = shared;
    const { id } = await shared.startBoard("photographed");
    const { body } = await site.call(id, "self.camera.take_photo", { question: "what?" });
    await shared.go(`/calls/${String(body["callId"])}`);
    const picture = page.getByRole("img", { name: "Image from the device" });
    await picture.waitFor();
    const width = () =>
      picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth);
    await until(async () => (await width()) > 0, "the photo");
    complaints.check();
  });

  it("says why a call was not sent and marks the wrong value", async () => {
    const { site, page, complaints } = shared;
    const fields = { volume: { type: "integer", maximum: 100 }, room: { type: "string" } };
    const device = await shared.join({ tools: [tool("set_volume", fields, ["room"])] });
    const { body } = await site.call(device.id, "set_volume", { volume: 400 });
    await shared.go(`/calls/${String(body["callId"])}`);
    await page.getByRole("heading", { name: "Not sent to the device" }).waitFor();
    await page.getByRole("alert").getByText("Correct the marked values.").waitFor();
    await page.getByText("400").first().waitFor();
    await page.getByText("missing", { exact: true }).waitFor();
    await page.getByRole("list", { name: "Timeline" }).getByText("Not sent").waitFor();
    complaints.check();
  });

  it("does not call the answer false a success", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.join({ tools: [tool("set_light"), tool("is_dark")] });
    const answers: string[] = [];
    for (const name of ["set_light", "is_dark"]) {
      const call = site.call(device.id, name);
      device.reply((await device.nextRequest("tools/call")).id, textContent("false"));
      answers.push(String((await call).body["callId"]));
    }
    await shared.go(`/calls/${answers[0]}`);
    await page.getByRole("heading", { name: "The device answered false" }).waitFor();
    await shared.go(`/calls/${answers[1]}`);
    await page.getByRole("heading", { name: "Done" }).waitFor();
    await shared.go(`/calls?device=${device.id}`);
    const list = page.getByRole("list", { name: "Calls" });
    await list.getByText("The device answered false").waitFor();
    expect(await list.getByText("Done").count()).toBe(1);
    complaints.check();
  });
});

describe("the call list", () => {
  it("shows values and results, folds equal calls, and keeps its filters in the address", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.join({
      tools: [tool("set_volume", { volume: { type: "integer" } }), tool("beep")],
    });
    await site.rest("PATCH", `/devices/${device.id}`, { alias: "folded" });
    const call = async (name: string, args: Record<string, number>) => {
      const done = site.call(device.id, name, args);
      device.reply((await device.nextRequest("tools/call")).id, textContent("now at 30"));
      await done;
    };
    await call("beep", {});
    for (let count = 0; count < 12; count += 1) await call("set_volume", { volume: 30 });
    await shared.go("/calls");
    await page.getByLabel("Device", { exact: true }).fill("folded");
    const list = page.getByRole("list", { name: "Calls" });
    await list.getByText("volume: 30").waitFor();
    await list.getByText("now at 30").first().waitFor();
    await until(async () => (await list.getByRole("link").count()) === 2, "two lines");
    const fold = list.getByRole("button", { name: "12 equal calls in a row" });
    expect(await fold.textContent()).toContain("× 12");
    await fold.click();
    expect(await list.getByRole("link").count()).toBe(13);
    await page.getByLabel("Tool", { exact: true }).fill("beep");
    await fold.waitFor({ state: "detached" });
    expect(page.url()).toContain("tool=beep");
    await page.reload();
    await list.getByText("beep", { exact: true }).waitFor();
    expect(await list.getByRole("link").count()).toBe(1);
    await page.getByLabel("Caller", { exact: true }).fill("someone");
    await page.getByText("No matching calls").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await fold.waitFor();
    expect(new URL(page.url()).search).toBe("");
    complaints.check();
  });

  it("[CON-7] hides the status reads of the console, unless the user wants to see them", async () => {
    const { site, page, complaints } = shared;
    const { id } = await shared.startBoard("read");
    await site.call(id, "self.audio_speaker.set_volume", { volume: 30 });
    await shared.go(`/devices/${id}`);
    const volume = page.getByRole("spinbutton", { name: "Volume", exact: true });
    await until(async () => (await volume.inputValue()) === "30", "the reported volume");
    await shared.go(`/calls?device=${id}`);
    const list = page.getByRole("list", { name: "Calls" });
    await list.getByText("self.audio_speaker.set_volume").waitFor();
    expect(await list.getByText("self.get_device_status").count()).toBe(0);
    await page.getByLabel("Include automatic status reads").check();
    await list.getByText("console:admin").first().waitFor();
    expect(page.url()).toContain("automatic=true");
    complaints.check();
  });
});

describe("a running call", () => {
  it("shows its time and phase, and can be cancelled where it was started", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.join({ tools: [tool("slow")] });
    await shared.go(`/devices/${device.id}#slow`);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await device.nextRequest("tools/call");
    await page.getByText("Waiting for the device").waitFor();
    await page
      .getByRole("timer")
      .getByText(/^[1-9]\d* s$/)
      .waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByText("The call was cancelled").waitFor();
    await until(async () => {
      const { body } = await site.rest("GET", `/calls?device=${device.id}&outcome=cancelled`);
      return (body["calls"] as unknown[]).length === 1;
    }, "the cancelled call in the history");
    complaints.check();
  });

  it("that takes a photo shows when the photo has arrived", async () => {
    const answers = new Inbox<() => void>("question of the gateway");
    const provider = await startProvider((response) => answers.put(() => says("a cat")(response)));
    onTestFinished(() => provider.stop());
    const config = { vision: { provider: { url: provider.url, model: "m" } } };
    const site = await openConsoleSite({ config });
    await startBoard(site, desk, "desk");
    const { page, complaints } = await openConsole(site, `/devices/${desk}`);
    await page.getByRole("button", { name: "Take photo", exact: true }).click();
    const answer = await answers.take();
    await page.getByText("The photo has arrived and is being described").waitFor();
    answer();
    await page.getByText("a cat", { exact: true }).waitFor();
    complaints.check();
  });

  it("of another caller is listed with a page of its own, which follows it to its end", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.join({ tools: [tool("self.camera.take_photo")] });
    await shared.go("/calls");
    const call = site.call(device.id, "self.camera.take_photo");
    const setup = await device.nextRequest("initialize");
    device.reply(setup.id, {});
    const { id } = await device.nextRequest("tools/call");
    const running = page.getByRole("region", { name: "Running now" });
    await running.getByText("Waiting for the photo").waitFor();
    expect(await running.getByRole("button", { name: "Cancel" }).count()).toBe(0);
    await running.getByRole("link").click();
    await page.getByText("No answer yet.").waitFor();
    device.reply(id, textContent("a cat"));
    await call;
    await page.getByText("a cat", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Repeat" }).waitFor();
    complaints.check();
  });
});
