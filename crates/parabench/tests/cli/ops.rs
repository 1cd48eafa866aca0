//! `parabench ops`.

use crate::scene::Scene;

#[test]
fn every_operation_is_listed_and_described() {
    let list = Scene::new().parabench("ops").exits(0);
    for row in model::op::OPS {
        assert!(list.out.contains(row.name), "{}", row.name);
        Scene::new().parabench(&format!("ops {}", row.name)).exits(0).out_has(row.example);
    }
}

#[test]
fn every_word_of_the_language_is_described() {
    let list = Scene::new().parabench("ops").exits(0);
    for row in model::function::FUNCTIONS {
        assert!(list.out.contains(row.form) && list.out.contains("Functions"), "{}", row.name);
    }
    Scene::new().parabench("ops depth").exits(0).out_has("depth=a number from 1 to 65536");
    Scene::new().parabench("ops crand").exits(0).out_has("$$crand");
}

#[test]
fn an_unknown_operation_names_the_near_one() {
    Scene::new().parabench("ops wriet").exits(2).err_has("the nearest name is write").out_is("");
}
