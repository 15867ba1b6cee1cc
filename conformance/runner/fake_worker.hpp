// A worker without a device, for tests of the runner: its one step is {"do":"act", "what":WORD}, and WORD is done.
#pragma once

namespace bp::conform {

//   pass     answers        fail     answers {"code": 1}    crash   aborts         hang   sleeps forever
//   exit     exit(3)        garbage  writes no message      spoil   answers, and from then on
//   spoiled  aborts if the process is spoiled               late    answers after 50 ms
//   once:PATH      aborts if there is no such file, which it makes first
int run_fake_worker(int requests, int answers, int journal);

}  // namespace bp::conform
