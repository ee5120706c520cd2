//! Rounds: everyone who takes part in a row gets a turn in each, so that a busy moment of the machine
//! falls on all of them.
//!
//! Knows nothing of what is measured. Must never drop a slow sample: who fails is out, with the reason.

use super::Fault;

/// Something that can be done again and again.
pub(super) trait Subject {
    /// Does it once and checks what came of it; the milliseconds that it took.
    fn once(&mut self) -> Result<f64, Fault>;

    /// CPU time used up to now, milliseconds; `None` where it cannot be told apart.
    fn cpu_ms(&self) -> Option<f64>;
}

impl Subject for Box<dyn Subject> {
    fn once(&mut self) -> Result<f64, Fault> {
        self.as_mut().once()
    }

    fn cpu_ms(&self) -> Option<f64> {
        self.as_ref().cpu_ms()
    }
}

/// One who takes part, and what was measured.
pub(super) struct Lane<S> {
    pub(super) name: String,
    pub(super) state: State<S>,
    /// Milliseconds of each time.
    pub(super) wall_ms: Vec<f64>,
    /// The sum over all times.
    pub(super) cpu_ms: Option<f64>,
}

/// Whether it can take part.
pub(super) enum State<S> {
    /// It can.
    Ready(S),
    /// It is not on this machine; the command that changes that.
    Missing(String),
    /// It did not do what it should; how.
    Failed(String),
}

/// How often.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) rounds: usize,
    /// Times in a row, in each round.
    pub(super) burst: usize,
    /// Times before anything counts.
    pub(super) warm_up: usize,
}

impl<S: Subject> Lane<S> {
    pub(super) fn new(name: impl Into<String>, state: State<S>) -> Self {
        Self { name: name.into(), state, wall_ms: Vec::new(), cpu_ms: None }
    }

    fn turn(&mut self, times: usize, counts: bool) {
        let State::Ready(subject) = &mut self.state else { return };
        let before = subject.cpu_ms();
        for _ in 0..times {
            match subject.once() {
                Ok(wall_ms) if counts => self.wall_ms.push(wall_ms),
                Ok(_) => {}
                Err(fault) => {
                    self.state = State::Failed(fault.to_string());
                    return;
                }
            }
        }
        let used = subject.cpu_ms().zip(before).map(|(after, before)| after - before);
        if let Some(used) = used.filter(|_| counts) {
            self.cpu_ms = Some(self.cpu_ms.unwrap_or_default() + used);
        }
    }
}

/// Everyone's turns. Who goes first changes from round to round.
pub(super) fn run<S: Subject>(lanes: &mut [Lane<S>], pace: Pace) {
    for lane in lanes.iter_mut() {
        lane.turn(pace.warm_up, false);
    }
    for round in 0..pace.rounds {
        let (later, first) = lanes.split_at_mut(round % lanes.len().max(1));
        for lane in first.iter_mut().chain(later) {
            lane.turn(pace.burst, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    struct Scripted {
        log: Rc<RefCell<String>>,
        sign: char,
        lasts: usize,
    }

    impl Subject for Scripted {
        fn once(&mut self) -> Result<f64, Fault> {
            self.log.borrow_mut().push(self.sign);
            self.lasts = self.lasts.checked_sub(1).ok_or_else(|| Fault::new("it", "worn out"))?;
            Ok(2.0)
        }

        fn cpu_ms(&self) -> Option<f64> {
            Some(self.log.borrow().len() as f64)
        }
    }

    #[test]
    fn turns_rotate_and_the_warm_up_does_not_count() {
        let log = Rc::new(RefCell::new(String::new()));
        let scripted = |sign, lasts| Scripted { log: Rc::clone(&log), sign, lasts };
        let mut lanes = [
            Lane::new("a", State::Ready(scripted('a', 99))),
            Lane::new("b", State::Ready(scripted('b', 4))),
            Lane::new("c", State::Missing("get it".into())),
        ];
        run(&mut lanes, Pace { rounds: 3, burst: 2, warm_up: 1 });
        assert_eq!(*log.borrow(), "abaabbbbaaaa");
        let [a, b, c] = &lanes;
        assert_eq!((a.wall_ms.len(), a.cpu_ms), (6, Some(6.0)));
        assert!(matches!(&b.state, State::Failed(why) if why == "`it`: worn out"), "b lasts 4");
        assert!(c.wall_ms.is_empty());
    }
}
