// Prints one line per suite with its time, what tests write to the console, every failure in full, every skipped test
// with its reason, and closes with the time of the whole run and the counts in the form that CI reads.
import path from "node:path";

export default class SuiteReporter {
  failures = [];
  started = Date.now();

  onUserConsoleLog({ type, content }) {
    process[type].write(content);
  }

  onTestModuleEnd(module) {
    const tests = [...module.children.allTests()];
    const count = (state) => tests.filter((test) => test.result().state === state).length;
    const failed = count("failed") + (module.state() === "failed" && count("failed") === 0 ? 1 : 0);
    const seconds = (module.diagnostic().duration / 1000).toFixed(2).padStart(7);
    const name = path.relative(process.cwd(), module.moduleId);
    console.log(
      `${failed === 0 ? "ok  " : "FAIL"} ${seconds} s  ${name} (${count("passed")} of ${tests.length})`,
    );
    for (const test of tests) {
      const result = test.result();
      if (result.state === "skipped")
        console.log(`     skipped: ${test.fullName}${result.note ? `: ${result.note}` : ""}`);
      if (result.state === "failed") this.printFailure(test.fullName, result.errors, name);
    }
    for (const suite of module.children.allSuites()) {
      if (suite.errors().length > 0) this.printFailure(suite.fullName, suite.errors(), name);
    }
    const own = module.errors();
    if (own.length > 0) this.printFailure("(suite)", own, name);
  }

  printFailure(name, errors, where) {
    console.log(`     failed: ${name}`);
    this.failures.push(where === undefined ? name : `${where} > ${name}`);
    for (const error of errors) {
      const text = `${error.stack ?? error.message ?? error}${error.diff ? `\n${error.diff}` : ""}`;
      console.log(text.replace(/^/gm, "       "));
    }
  }

  onTestRunEnd(modules, unhandled) {
    const totals = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      let failedTests = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") totals.passed += 1;
        else if (state === "failed") failedTests += 1;
        else totals.skipped += 1;
      }
      totals.failed += failedTests === 0 && module.state() === "failed" ? 1 : failedTests;
    }
    for (const error of unhandled) this.printFailure("(outside any test)", [error]);
    totals.failed += unhandled.length;
    const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : "";
    // Said again where a reader of thousands of lines looks first.
    for (const failure of this.failures) console.log(`\nfailed: ${failure}`);
    console.log(`\nall suites: ${((Date.now() - this.started) / 1000).toFixed(0)} s`);
    console.log(`\n${totals.passed} passed, ${totals.failed} failed${skipped}`);
  }
}
