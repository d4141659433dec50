/**
 * One gateway and one signed-in page for the tests of a `describe`, because starting a gateway and loading the page cost
 * more than most tests. A test that needs a new profile, another principal or an empty fleet, or that changes the language
 * or the theme, opens its own with `openConsole`.
 *
 * The gateway keeps what earlier tests did. So each test uses its own devices, and looks only at them in lists.
 */
import type { VirtualDevice } from "@tendon/simulator";
import type { BrowserContextOptions, Page, Request } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import type { RawDevice } from "../raw-device.ts";
import type { JoinOptions, Site, SiteOptions } from "../site.ts";
import type { DeviceClaim } from "../transport.ts";
import { type Complaints, type OpenPage, startConsole } from "./browser.ts";
import { type BoardOptions, clientIdOf, startBoard, startConsoleSite } from "./console-site.ts";

/** An address without a page, which keeps nothing of the page before it. */
const nowhere = "/nowhere";
/** A file of the console that runs nothing. */
const picture = "/icon.svg";
const patienceMs = 15_000;

export interface SharedConsoleOptions {
  /** The options of the gateway. A function may start what they need, and leave its end to `atEnd`. */
  readonly site?: SiteOptions | ((shared: SharedConsole) => Promise<SiteOptions>);
  readonly page?: BrowserContextOptions;
  /** The link that signs in; by default the one that `serve` prints. */
  readonly link?: (site: Site) => Promise<string>;
}

/** Call it in a `describe`; its tests use the result. */
export function sharedConsole(options: SharedConsoleOptions = {}): SharedConsole {
  const shared = new SharedConsole(options);
  beforeAll(() => shared.start());
  beforeEach(() => shared.open());
  afterEach(({ task }) => shared.reset(task.result?.state === "fail"));
  afterAll(() => shared.stop());
  return shared;
}

export class SharedConsole {
  readonly #options: SharedConsoleOptions;
  readonly #ends: (() => unknown)[] = [];
  readonly #pending = new Set<Request>();
  #site: Site | undefined;
  #opened: OpenPage | undefined;
  /** Whether the page is as each test finds it. */
  #left = true;
  #devices = 0;
  #viewport: ReturnType<Page["viewportSize"]> = null;

  constructor(options: SharedConsoleOptions) {
    this.#options = options;
  }

  get site(): Site {
    return present(this.#site);
  }

  get page(): Page {
    this.#left = false;
    return present(this.#opened).page;
  }

  /** Those of the present test. */
  get complaints(): Complaints {
    return present(this.#opened).complaints;
  }

  /** Opens an address as a link would, without reloading. Nothing of the page before is kept, not even at the same address. */
  async go(at: string): Promise<void> {
    await this.page.evaluate(travel(at));
  }

  /** Loads an address, because the page keeps data for seconds that a test has changed without an event. */
  async load(at: string): Promise<void> {
    await this.page.goto(`${this.site.url}${at}`);
    await this.page.getByRole("navigation").first().waitFor();
  }

  /** Ends the console in the page, until a test loads it again. The same origin keeps the browser's process. */
  async unload(): Promise<void> {
    await this.page.goto(`${this.site.url}${picture}`);
  }

  /** The id of a device that no other test uses. */
  newDeviceId(): string {
    this.#devices += 1;
    return `02:00:00:00:01:${this.#devices.toString(16).padStart(2, "0")}`;
  }

  /** Starts a virtual board that no other test uses. It stops with the test. */
  async startBoard(alias: string, options: BoardOptions = {}): Promise<VirtualDevice> {
    return await startBoard(this.site, this.newDeviceId(), alias, options);
  }

  /** A raw device that no other test uses; its answers are up to the test. It disconnects with the test. */
  async join(options: Omit<JoinOptions, keyof DeviceClaim> = {}): Promise<RawDevice> {
    const deviceId = this.newDeviceId();
    const clientId = clientIdOf(deviceId);
    const { token } = this.site.tendon.provision(deviceId, clientId).websocket;
    const device = await this.site.join({ ...options, deviceId, clientId, token });
    onTestFinished(() => device.cut());
    return device;
  }

  /** Runs after the last test, the latest first. */
  atEnd(end: () => unknown): void {
    this.#ends.push(end);
  }

  async start(): Promise<void> {
    const { site = {} } = this.#options;
    this.#site = await startConsoleSite(typeof site === "function" ? await site(this) : site);
  }

  async open(): Promise<void> {
    if (this.#opened !== undefined) return;
    const { page: options, link } = this.#options;
    this.#opened = await startConsole(this.site, "/", options, await link?.(this.site));
    const { page } = this.#opened;
    this.#viewport = page.viewportSize();
    this.#pending.clear();
    page.on("request", (request) => {
      // The event stream stays open.
      if (!request.url().endsWith("/api/v1/events")) this.#pending.add(request);
    });
    page.on("requestfinished", (request) => this.#pending.delete(request));
    page.on("requestfailed", (request) => this.#pending.delete(request));
  }

  /** Leaves the page before the test's devices stop, so that nothing of this test reaches the next one. */
  async reset(failed: boolean): Promise<void> {
    if (failed) return await this.#close();
    if (this.#left || this.page.url().endsWith(picture)) return;
    try {
      await this.#leave();
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  async #leave(): Promise<void> {
    await this.go(nowhere);
    await until(() => this.#pending.size === 0, "the end of all requests");
    await this.page.evaluate("localStorage.clear()");
    if (this.#viewport !== null) await this.page.setViewportSize(this.#viewport);
    this.complaints.forget();
    this.#left = true;
  }

  async stop(): Promise<void> {
    await this.#close();
    await this.#site?.stop();
    for (const end of this.#ends.splice(0).reverse()) await end();
  }

  /** The next test opens a new page. */
  async #close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    this.#left = true;
    await opened?.context.close();
  }
}

function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new TypeError("a shared console is there only while its tests run");
  return value;
}

/** Goes by way of an address without a page, and closes the dialogs that belong to no page. */
function travel(at: string): string {
  return `new Promise((resolve, reject) => {
    const end = performance.now() + ${patienceMs};
    const look = () => {
      const dialog = document.querySelector("[role=dialog]");
      dialog?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
      if (dialog === null && document.getElementById("main").innerText.includes(${JSON.stringify(nowhere)})) {
        history.pushState(null, "", ${JSON.stringify(at)});
        resolve();
      } else if (performance.now() > end) {
        reject(new Error("the page cannot be left: " + document.body.innerText.slice(0, 500)));
      } else requestAnimationFrame(look);
    };
    history.pushState(null, "", ${JSON.stringify(nowhere)});
    look();
  })`;
}
